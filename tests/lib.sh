# lib.sh -- what the test scripts share: counting, and a word about what failed. Sourced, from the repository's root.
passed=0 failed=0 skipped=0
group=${group:-$(basename "$(dirname "$0")")}
scratch=build/tests/$group
mkdir -p "$scratch"
generator=build/composer-gen
reference=${REFERENCE:-../shared/reference}

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $group: $*"; }
skip() { skipped=$((skipped + 1)); echo "skipped $group: $*"; }

# The group's last line; the tally of all groups adds these up.
finish() {
    echo "$group: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# compile PROGRAM.c PROGRAM [FLAG...]: as a user would, but faster to build.
compile() {
    program=$1 result=$2; shift 2
    gcc -O2 -march=native -fopenmp -std=gnu11 -Wall -Wextra -Werror "$@" -o "$result" "$program" -lm -lz -ldnnl
}
