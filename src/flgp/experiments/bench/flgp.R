# One timed call of the R package FLGP, as child.py makes one of a Python package.
# Rscript flgp.R METHOD FOLDER THREADS key=value ...; the folder holds raw little-endian doubles, and their
# sizes in shape.txt (n, p, m). Prints a line of JSON.
given <- commandArgs(trailingOnly = TRUE)
method <- given[1]
folder <- given[2]
pairs <- strsplit(given[-(1:3)], "=", fixed = TRUE)
options <- setNames(sapply(pairs, `[`, 2), sapply(pairs, `[`, 1))
number <- function(name) as.integer(options[[name]])

suppressMessages(library(FLGP))
RcppParallel::setThreadOptions(numThreads = as.integer(given[3]))
set.seed(number("seed"))

size <- scan(file.path(folder, "shape.txt"), quiet = TRUE)
doubles <- function(name, count) {
  readBin(file.path(folder, name), "double", count, size = 8, endian = "little")
}
X <- matrix(doubles("X.bin", size[1] * size[2]), ncol = size[2], byrow = TRUE)
y <- doubles("y.bin", size[1])
rows <- doubles("labeled.bin", size[3]) + 1
targets <- doubles("targets.bin", size[3])
rest <- setdiff(seq_len(size[1]), rows)

arguments <- list(
  X[rows, , drop = FALSE], targets, X[rest, , drop = FALSE],
  s = number("n_anchors"), r = number("n_neighbors"), K = number("n_eigenpairs"),
  models = list(subsample = "kmeans", kernel = "lae", gl = "cluster-normalized", root = TRUE)
)
weights <- if (method == "r-flgp-lk") "lae" else "se"
if (weights == "se") arguments$a2s <- exp(seq(log(0.1), log(10), length.out = 20))
kind <- c(binary = "logit_gp", multiclass = "logit_mult_gp", regression = "regression_gp")[[options[["task"]]]]
fit <- getExportedValue("FLGP", paste0("fit_", weights, "_", kind, "_rcpp"))

started <- Sys.time()
used <- proc.time()
invisible(capture.output(result <- do.call(fit, arguments)))
seconds <- as.numeric(Sys.time() - started, units = "secs")
cpu <- sum((proc.time() - used)[c("user.self", "sys.self")])

gap <- as.vector(result$Y_pred$test) - y[rest]
error <- if (options[["task"]] == "regression") sqrt(mean(gap^2)) else mean(gap != 0)
cat(sprintf('{"seconds": %.6f, "cpu": %.6f, "memory": null, "error": %.8f}\n', seconds, cpu, error))
