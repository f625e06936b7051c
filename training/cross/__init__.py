"""How the cross-encoder of the package `crag-graph-evaluator` is made."""
