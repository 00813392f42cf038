"""Statistics in the clear: of data that its reader holds, and intervals of released numbers."""
