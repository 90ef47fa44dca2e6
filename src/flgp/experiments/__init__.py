"""All experiments: the paper's tables, other software on the same data, and single measurements."""
