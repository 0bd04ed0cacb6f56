# What R's glmnet answers, for tests/test_glmnet.py: Rscript answers.R > answers.txt, in this folder.
# One line a fit: its name, the intercept, the coefficients.
suppressMessages(library(glmnet))
data <- as.matrix(read.csv("data.csv"))
X <- data[, 1:12]
y <- data[, "y"]; label <- data[, "label"]; count <- data[, "count"]
exposure <- data[, "exposure"]; weight <- data[, "weight"]
glmnet.control(fdev = 0)
fit <- function(name, ...) {
  cat(name, format(as.numeric(coef(glmnet(X, ..., thresh = 1e-14))), digits = 12, trim = TRUE), "\n")
}
fit("lasso", y, lambda = 0.1)
fit("lasso_as_it_comes", y, lambda = 0.1, standardize = FALSE)
fit("lasso_weighted", y, lambda = 0.1, weights = weight)
fit("lasso_factors", y, lambda = 0.1, penalty.factor = seq(0.5, 2, length.out = 12))
fit("lasso_positive", y, lambda = 0.1, lower.limits = 0)
fit("elastic_net", y, lambda = 0.1, alpha = 0.5)
fit("binomial", label, family = "binomial", lambda = 0.05)
fit("binomial_offset", label, family = "binomial", lambda = 0.05, offset = log(exposure) - 1)
fit("binomial_elastic_net", label, family = "binomial", lambda = 0.05, alpha = 0.5)
fit("poisson_offset", count, family = "poisson", lambda = 0.1, offset = log(exposure))
