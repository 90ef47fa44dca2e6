"""The figures of the experiments, at print size and in colour-blind safe colours."""
