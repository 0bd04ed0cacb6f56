"""Gap against time: every fit of the searches, one panel a case and λ."""

from __future__ import annotations


def draw(searches, path):
    """Save the picture of one group's searches; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = {(search["case"], search["part"]): search for search in searches}
    rows = list(dict.fromkeys(case for case, _ in panels))
    columns = list(dict.fromkeys(part for _, part in panels))
    figure, axes = plt.subplots(
        len(rows), len(columns), figsize=(4.2 * len(columns), 2.8 * len(rows)), squeeze=False, layout="constrained"
    )
    names = list(dict.fromkeys(name for search in searches for name in search["fits"]))
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


def _panel(axis, search, colours):
    for name, fits in search["fits"].items():
        known = [fit for fit in fits if fit["gap"] is not None]  # null: not finite
        points = sorted((fit["seconds"], max(fit["gap"], 1e-16)) for fit in known)
        if points:
            axis.plot(*zip(*points, strict=True), "o-", color=colours[name], markersize=3, linewidth=1)
    axis.set(xscale="log", yscale="log", title=search["label"], xlabel="seconds", ylabel="relative gap")
