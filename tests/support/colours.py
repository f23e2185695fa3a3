"""Colour arithmetic for tests, written from the standards and not from the code under test."""

from __future__ import annotations


def _linear(colour: str) -> tuple[float, float, float]:
    values = (int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255)
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return red, green, blue


def wcag_contrast(first: str, second: str) -> float:
    """(L1 + 0.05) / (L2 + 0.05), WCAG 2.2."""
    lights = []
    for colour in (first, second):
        red, green, blue = _linear(colour)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(lights) / min(lights)


def as_deuteranope(colour: str) -> tuple[float, float, float]:
    """Linear RGB as seen without green cones (Machado, Oliveira and Fernandes 2009, severity 1)."""
    r, g, b = _linear(colour)
    seen = (
        0.367322 * r + 0.860646 * g - 0.227968 * b,
        0.280085 * r + 0.672501 * g + 0.047413 * b,
        -0.011820 * r + 0.042940 * g + 0.968881 * b,
    )
    red, green, blue = (min(max(v, 0.0), 1.0) for v in seen)
    return red, green, blue


def cielab(rgb: str | tuple[float, float, float]) -> tuple[float, float, float]:
    """CIELAB of a "#rrggbb" or linear sRGB colour, D65."""
    r, g, b = _linear(rgb) if isinstance(rgb, str) else rgb
    xyz = (
        (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
    )
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(first: str | tuple[float, float, float], second: str | tuple[float, float, float]) -> float:
    """CIE76 colour difference; about 2.3 is just noticeable side by side."""
    return sum((a - b) ** 2 for a, b in zip(cielab(first), cielab(second), strict=True)) ** 0.5
