"""The page of `rate inspect`: its values in Python, its form in page.html, page.css and scripts."""
