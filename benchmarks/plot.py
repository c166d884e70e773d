"""A plot of scaling curves as SVG: one panel for each axis, CPU time per location of the gateway and of Redis. scaling.py uses it."""
import math

PANEL_WIDTH, PANEL_HEIGHT, MARGIN = 300, 220, 46
COLUMNS = 3
# Gateway, Redis. Readable on a light and on a dark page.
COLOURS = ["#2f7ed8", "#d9534f"]
NAMES = ["gateway, µs of CPU per location", "Redis, µs of CPU per location"]


def ceiling(value):
    """Returns the next larger number of the form 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def short(number):
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def line(x1, y1, x2, y2, style):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def text(x, y, words, anchor="middle", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def panel(left, top, title, unit, is_logarithmic, points):
    """`points` are (x, gateway, redis, followers). With a logarithmic axis, y is logarithmic too."""
    width, height = PANEL_WIDTH - MARGIN - 14, PANEL_HEIGHT - 2 * MARGIN + 8
    x0, y0 = left + MARGIN, top + 34
    parts = [text(x0 + width / 2, top + 20, title, size=13), text(x0 + width / 2, y0 + height + 32, unit)]
    if not points:
        return parts + [text(x0 + width / 2, y0 + height / 2, "not measured")]
    points = sorted(points)
    most = ceiling(max(max(point[1:3]) for point in points))
    least = 1 if is_logarithmic else 0
    first, last = points[0][0], points[-1][0]

    def place(x):
        if first == last:
            return x0 + width / 2
        if is_logarithmic:
            return x0 + width * math.log(x / first) / math.log(last / first)
        return x0 + width * (x - first) / (last - first)

    def rise(y):
        if is_logarithmic:
            return y0 + height * (1 - math.log10(max(y, least)) / math.log10(most))
        return y0 + height * (1 - y / most)

    ticks = [10 ** power for power in range(int(math.log10(most)) + 1)] if is_logarithmic else [most * n / 4 for n in range(5)]
    for tick in ticks:
        parts += [line(x0, rise(tick), x0 + width, rise(tick), 'stroke="#888" stroke-opacity="0.35"'),
                  text(x0 - 5, rise(tick) + 4, short(tick), "end", 10)]
    for x in {point[0] for point in points}:
        parts.append(text(place(x), y0 + height + 16, short(x), size=10))
    for number, colour in enumerate(COLOURS, 1):
        spots = [(place(point[0]), rise(point[number])) for point in points]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
    return parts


def plot(axes):
    """Returns the SVG document. `axes` are (title, unit, is_logarithmic, points)."""
    rows = -(-len(axes) // COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, rows * PANEL_HEIGHT + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" fill="#555">', '<rect width="100%" height="100%" fill="#fff"/>']
    for number, axis in enumerate(axes):
        parts += panel(number % COLUMNS * PANEL_WIDTH, number // COLUMNS * PANEL_HEIGHT, *axis)
    for number, (name, colour) in enumerate(zip(NAMES, COLOURS)):
        x = MARGIN + number * 300
        parts += [line(x, height - 14, x + 24, height - 14, f'stroke="{colour}" stroke-width="3"'),
                  text(x + 30, height - 10, name, "start")]
    return "\n".join(parts + ["</svg>"]) + "\n"
