"""What is installed besides ppaurora itself: read from lock files, listed, and checked."""
