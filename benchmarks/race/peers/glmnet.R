# Fits for glmnet.py: commands on stdin, one a line; data and coefficients in raw files; times by R's own clocks.
#   load FOLDER ROWS COLUMNS ENTRIES      (ENTRIES 0: dense)
#   fit FAMILY RATIO THRESH STEPS CLOCK   reads STEPS values of lambda, writes their coefficients; CLOCK: wall, processor
#                                         multinomial: those of the last lambda, a column a class
suppressPackageStartupMessages({ library(glmnet); library(Matrix) })
glmnet.control(fdev = 0, devmax = 1, mnlam = 1, eps = 0)
numbers <- function(name, count, what = "double") readBin(file.path(folder, name), what, count)
clocks <- list(wall = function() as.numeric(Sys.time()), processor = function() sum(proc.time()[1:2]))
input <- file("stdin", "r")
cat("ready", as.character(packageVersion("glmnet")), "\n")
flush(stdout())
while (length(line <- readLines(input, n = 1)) > 0) {
  word <- strsplit(line, "\t")[[1]]
  if (word[1] == "load") {
    folder <- word[2]
    rows <- as.integer(word[3]); columns <- as.integer(word[4]); entries <- as.numeric(word[5])
    y <- numbers("y", rows)
    if (entries > 0) {
      X <- new("dgCMatrix", i = numbers("indices", entries, "integer"), p = numbers("indptr", columns + 1, "integer"),
               x = numbers("data", entries), Dim = c(rows, columns))
    } else {
      X <- matrix(numbers("data", as.numeric(rows) * columns), rows, columns)
    }
    cat("loaded\n")
  } else {
    lambda <- numbers("lambda", as.integer(word[5]))
    target <- if (word[2] == "gaussian") y else factor(y)
    clock <- clocks[[word[6]]]
    before <- clock()
    fit <- suppressWarnings(glmnet(X, target, family = word[2], alpha = as.numeric(word[3]), lambda = lambda,
                                   standardize = FALSE, intercept = FALSE, thresh = as.numeric(word[4]), maxit = 1e9))
    spent <- clock() - before
    beta <- if (word[2] == "multinomial") sapply(fit$beta, function(of) of[, ncol(of)]) else as.matrix(fit$beta)
    writeBin(as.vector(beta), file.path(folder, "beta"))
    cat("done", spent, ncol(beta), "\n")
  }
  flush(stdout())
}
