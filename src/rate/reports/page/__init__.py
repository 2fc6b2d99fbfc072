"""The HTML page of a report: its text, its style, how each number was computed."""
