"""Whatever is drawn or rendered for people: the style, charts, the report. Nothing here knows HTTP."""
