"""The cross-encoder's files: `model.onnx`, and `scores.json`, which checks and calibrates it."""
