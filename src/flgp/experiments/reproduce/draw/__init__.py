"""The figures of the experiments, at print size and in colours that everybody can tell apart."""
