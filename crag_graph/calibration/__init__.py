"""Threshold profiles from labels: scored once, swept offline, with how sure they are.

from crag_graph.calibration import calibrate, profile_path, write_profile

result = calibrate("labels.csv")
if result.separable:
write_profile(result, profile_path(home, "support"))
"""

from crag_graph.calibration.labels import LabelSet, read_labels
from crag_graph.calibration.objectives import Costs, Objective
from crag_graph.calibration.profile_file import default_name, profile_path, write_profile
from crag_graph.calibration.result import Calibration
from crag_graph.calibration.run import Plan, calibrate
from crag_graph.calibration.scores import ScoreStore

__all__ = [
    "Calibration",
    "Costs",
    "LabelSet",
    "Objective",
    "Plan",
    "ScoreStore",
    "calibrate",
    "default_name",
    "profile_path",
    "read_labels",
    "write_profile",
]
