import os

# Before Textual is loaded: what terminal the tests are started from changes no picture.
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"
