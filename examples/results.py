"""Reads what lathide writes with --json: results.py RESULT.json [FIGURE.svg]"""
import json
import sys

with open(sys.argv[1]) as file:
    result = json.load(file)
print(result["schema"], result["title"], result["conclusion"], *result["warnings"], sep="\n")
charts = [part["chart"] for part in result["layout"] if "chart" in part]
for chart in charts:
    for series in chart["series"]:
        for x, y, least, greatest in series["points"]:
            print(series["name"], x, y, least, greatest, sep="\t")

if len(sys.argv) > 2 and charts:
    from matplotlib import pyplot

    figure, places = pyplot.subplots(len(charts), squeeze=False, figsize=(8, 5 * len(charts)))
    for place, chart in zip(places[:, 0], charts):
        for series in chart["series"]:
            x, y, least, greatest = zip(*series["points"])
            style = {"solid": "-", "dotted": ":", "points": "o"}[series["look"]]
            bars = [[b - a for a, b in zip(least, y)], [b - a for a, b in zip(y, greatest)]]
            place.errorbar(x, y, yerr=bars if style == "o" else None, fmt=style, label=series["name"])
        for axis, scale in (("x", place.set_xscale), ("y", place.set_yscale)):
            scale("log" if chart[axis]["is_log"] else "linear")
        place.set(xlabel=chart["x"]["label"], ylabel=chart["y"]["label"])
        place.legend()
    figure.savefig(sys.argv[2])
