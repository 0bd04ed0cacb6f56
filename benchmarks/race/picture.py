"""Gap against time: every fit of the searches, one panel a case and λ."""

from __future__ import annotations


def draw(records, path):
    """Save the picture of one group's records; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = {(record["case"], record["part"]): record for record in records}
    rows = list(dict.fromkeys(case for case, _ in panels))
    columns = list(dict.fromkeys(part for _, part in panels))
    figure, axes = plt.subplots(
        len(rows), len(columns), figsize=(4.2 * len(columns), 2.8 * len(rows)), squeeze=False, layout="constrained"
    )
    names = list(dict.fromkeys(name for record in records for name in record["runs"]))
    colours = {name: f"C{place}" for place, name in enumerate(names)}
    for i, case in enumerate(rows):
        for j, part in enumerate(columns):
            if (case, part) in panels:
                _panel(axes[i, j], panels[case, part], colours)
            else:
                axes[i, j].set_axis_off()
    handles = [plt.Line2D([], [], color=colour, marker="o", label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, len(handles)))
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return True


def _panel(axis, record, colours):
    for name, runs in record["runs"].items():
        points = sorted((run["seconds"], max(run["gap"], 1e-16)) for run in runs)
        if points:
            axis.plot(*zip(*points, strict=True), "o-", color=colours[name], markersize=3, linewidth=1)
    axis.set(xscale="log", yscale="log", title=record["label"], xlabel="seconds", ylabel="relative gap")
