"""Numbers of a study that are about no single slice: comparisons, clusters, sites, rows left out."""
