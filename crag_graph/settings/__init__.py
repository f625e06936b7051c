"""The knobs of one run, with bounds and hints for Studio, and the threshold profiles.

`Settings` is the context schema of the graph: pass it, or a mapping of its fields, as `context=`.
Secrets and addresses are never settings; they come from the environment.
"""

from crag_graph.settings.models import EvaluationMode
from crag_graph.settings.profiles import PROFILES, Aggregate, Profile, Scale, Thresholds, to_unit
from crag_graph.settings.run import Settings
from crag_graph.settings.verdict import OutagePolicy
from crag_graph.settings.web import TimeRange, Topic

__all__ = [
    "PROFILES",
    "Aggregate",
    "EvaluationMode",
    "OutagePolicy",
    "Profile",
    "Scale",
    "Settings",
    "Thresholds",
    "TimeRange",
    "Topic",
    "to_unit",
]
