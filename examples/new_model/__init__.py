"""A complete small family to copy: documents in clusters, each with one topic (a mixture of unigrams)."""

from topicloom.models import register

register("DocumentClusters", "examples.new_model.model")  # the one line by which load and resume find the class
