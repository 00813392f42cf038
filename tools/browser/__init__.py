"""The local web app in a real browser, for tests, screenshots and measurements."""
