"""A Qdrant server or cluster, over REST."""
