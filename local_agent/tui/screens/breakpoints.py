"""From which sizes on a screen has room for margins and for two columns."""

WIDTHS = [(0, "-narrow"), (60, "-medium"), (100, "-wide")]
HEIGHTS = [(0, "-low"), (18, "-high")]
