#!/usr/bin/env python3
"""compare.py -- a run's losses, evaluation and weights against a recorded one.

usage: compare.py REFERENCE_FOLDER RUN_FOLDER fp32|fp64

Prints one line; exit 1 where a tolerance of result.json is passed. In fp64 losses must agree to 1e-9, relative.
"""
import array
import json
import os
import struct
import sys

LOSS_FP64 = 1e-9


def read_tensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    kinds = {"F32": "f", "F64": "d"}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in kinds:
            begin, end = entry["data_offsets"]
            tensors[name] = array.array(kinds[entry["dtype"]], data[begin:end])
    return tensors


def distance(ours, theirs):
    difference = sum((a - b) ** 2 for a, b in zip(ours, theirs)) ** 0.5
    return difference / (sum(b * b for b in theirs) ** 0.5 or 1)


def without_exempt(name, tensor):
    """The key third of c_attn.bias has a true gradient of 0; Adam makes full steps of rounding noise there."""
    third = len(tensor) // 3
    return tensor[:third] + tensor[2 * third:] if name.endswith("attn.c_attn.bias") else tensor


def compare_weights(ours_path, theirs_path, tolerance, skip_statistics):
    ours, theirs = read_tensors(ours_path), read_tensors(theirs_path)
    worst, wrong = 0.0, []
    for name, tensor in ours.items():
        if skip_statistics and "running_" in name:
            continue
        if name not in theirs or len(theirs[name]) != len(tensor):
            wrong.append(f"{name} is not there or has another size")
            continue
        far = distance(without_exempt(name, tensor), without_exempt(name, theirs[name]))
        worst = max(worst, far)
        if far > tolerance:
            wrong.append(f"{name} is {far:.1e} away, {tolerance:.1e} is allowed")
    return worst, wrong


def compare_losses(ours, result, precise):
    theirs, wrong, worst = result["loss_fp64"], [], 0.0
    if len(ours) != len(theirs):
        wrong.append(f"{len(ours)} steps, not {len(theirs)}")
    for step, (a, b) in enumerate(zip(ours, theirs)):
        far = abs(a - b) / abs(b)
        allowed = LOSS_FP64 if precise else result["tolerance"]["fp32_loss_by_step"][step]
        worst = max(worst, far)
        if not far <= allowed:
            wrong.append(f"the loss of step {step} is {a:.9g}, not {b:.9g}")
    return worst, wrong


def main():
    folder, run, precise = sys.argv[1], sys.argv[2], sys.argv[3] == "fp64"
    with open(os.path.join(folder, "result.json")) as file:
        result = json.load(file)
    with open(os.path.join(run, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    losses = [line["loss/train/total"] for line in lines if "loss/train/total" in line]
    worst, wrong = compare_losses(losses, result, precise)
    said = f"loss {worst:.1e}"
    leaves_statistics = "eval_fp64_if_scoring_leaves_bn_alone" in result
    expected = result.get("eval_ema_fp64") or result.get("eval_fp64_if_scoring_leaves_bn_alone") or result["eval_fp64"]
    evaluated = [line for line in lines if "metrics/eval/CrossEntropy" in line][-1]["metrics/eval/CrossEntropy"]
    far = abs(evaluated - expected["loss"]) / expected["loss"]
    said += f", evaluation {far:.1e}"
    weights = 2e-7 if precise else result["tolerance"]["fp32_weights"]
    if far > (LOSS_FP64 if precise else 10 * weights):
        wrong.append(f"the evaluation's loss is {evaluated:.9g}, not {expected['loss']:.9g}")
    for name, other in ("model", "final"), ("averaged", "final_ema"):
        theirs = os.path.join(folder, other + ".safetensors")
        if os.path.exists(theirs):
            worst, more = compare_weights(os.path.join(run, name + ".safetensors"), theirs, weights, leaves_statistics)
            said += f", {name} {worst:.1e}"
            wrong += more
    print(said + "".join("; " + line for line in wrong[:3]))
    sys.exit(bool(wrong))


main()
