# composer-gen -- `make help` lists what can be made.

CC      = gcc
CFLAGS  = -O2 -g
WARN    = -std=gnu17 -Wall -Wextra -Igen
LLVM    = /usr/lib/llvm-19
LIBS    = -L$(LLVM)/lib -lclang-19 -Wl,-rpath,$(LLVM)/lib -lyaml -lz -lm
BUILD   = build
PROGRAM = -O3 -march=native -fopenmp -std=gnu11 -Wall -Wextra
PROGRAM_LIBS = -lm -lz -ldnnl

SOURCES  = $(wildcard gen/*.c gen/*/*.c gen/*/*/*.c)
OBJECTS  = $(SOURCES:%.c=$(BUILD)/%.o)
ROOMS    = $(filter-out $(BUILD)/gen/main.o,$(OBJECTS))
TESTS    = $(wildcard tests/unit/*.c tests/interp/*.c tests/ops/*.c)
TEST_OBJECTS = $(TESTS:%.c=$(BUILD)/%.o)

RECIPE  = recipes/fashion.yaml
NAME    = $(basename $(notdir $(RECIPE)))

all: $(BUILD)/composer-gen ## build the compiler

$(BUILD)/composer-gen: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/gen/front/%.o: WARN += -I$(LLVM)/include
$(BUILD)/%.o: %.c
	@mkdir -p $(dir $@)
	$(CC) $(CFLAGS) $(WARN) -I. -MMD -MP -c -o $@ $<

-include $(OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d)

setup: ## install the packages that are missing (Debian; as root or with sudo)
	@sh .ci/setup

# An emitted program: generated, built, and beside it what the generator said.
out/%/train.c: $(BUILD)/composer-gen FORCE
	@mkdir -p $(dir $@)
	$(BUILD)/composer-gen recipes/$*.yaml $(ARGS) -o $@
out/%/train: out/%/train.c
	$(CC) $(PROGRAM) -o $@ $< $(PROGRAM_LIBS)

run: ## install, build, compile RECIPE (recipes/fashion.yaml) and train it
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory out/$(NAME)/train
	out/$(NAME)/train run_folder=out/$(NAME)/run $(SETTINGS)

test: $(BUILD)/composer-gen $(BUILD)/unit ## all tests
	sh tests/run

$(BUILD)/unit: $(ROOMS) $(TEST_OBJECTS)
	$(CC) $(CFLAGS) -fopenmp -o $@ $^ $(LIBS) -lcheck -lsubunit -lrt -lpthread -ldnnl

arrows: ## check that rooms include only what DESIGN allows
	@sh tests/arrows

golden: $(BUILD)/composer-gen ## write the golden programs again; read the diff
	sh tests/golden/run --write

asan: ## compiler and unit tests under ASan and UBSan
	$(MAKE) BUILD=build/asan CFLAGS="-O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer" build/asan/composer-gen build/asan/unit

wc: ## lines by room
	@for room in gen/* templates runtime methods recipes tests; do \
	  find $$room -type f \( -name '*.[ch]' -o -name '*.def' \) -print0 | xargs -0 -r cat | wc -l | sed "s|$$| $$room|"; done

long: ## functions over 60 lines, files over 500
	@sh tests/long

clean:
	rm -rf $(BUILD) out/*/

help: ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/\t/' | expand -t 10

FORCE:
.PHONY: all setup run test arrows golden asan wc long clean help FORCE
.PRECIOUS: out/%/train.c out/%/train
