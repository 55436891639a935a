"""Compares a twin with two profiles of the same storage; see twin.sh."""

import json
import statistics
import sys
import tomllib

folder = sys.argv[1]


def key(point):
    return tuple(point[name] for name in ("mix", "pattern", "request_size", "depth", "range", "durability"))


def profile(name):
    with open(f"{folder}/{name}.toml", "rb") as file:
        return {key(point): point["iops"] for point in tomllib.load(file)["points"]}


with open(folder + "/fit.json") as file:
    fit = json.load(file)
fitted_to, later = profile("profile"), profile("later")
twin = {key(point["spec"]): point["twin_iops"] for point in fit["points"]}
held_out = {key(point["spec"]) for point in fit["points"] if point["held_out"]}


def report(title, found, wanted, keys):
    errors = sorted(abs(found[each] / wanted[each] - 1) for each in keys)
    print("%-62s median %4.1f %%, three quarters within %4.1f %%, most %4.1f %% (%d points)" % (
        title, 100 * statistics.median(errors), 100 * errors[len(errors) * 3 // 4], 100 * errors[-1], len(errors)))


report("twin against the profile it was fitted to:", twin, fitted_to, twin)
report("  of these, points that the fit did not see:", twin, fitted_to, held_out)
report("twin against a later calibration:", twin, later, twin)
report("that profile itself against the later calibration:", fitted_to, later, twin)
print("passes of the profile, fastest above slowest: median %.0f %%" % (100 * fit["passes_apart"]))
