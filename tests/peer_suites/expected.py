"""Tests of scikit-learn (1.9) that fail with our estimators, with a reason each.

Differences that are meant, or tests that look inside scikit-learn.  A reason that begins with ``to be fixed`` would be
a fault of ours.
"""

from __future__ import annotations

from .verdict import Expected

WORDS = "the same error or warning in other words"
INSIDE = "looks inside scikit-learn's own solver"
SOLVER = "about a property of scikit-learn's algorithm that ours does not have"
COUNT = "n_iter_ counts outer rounds here, and at least one is made"
ONE_TASK = "several targets are not fitted by path functions here"
TOLERANCE = "tol bounds the objective here, with a proof; coefficients may differ by more than this test asks"
DIGITS = "compares coefficients to 1e-7 of themselves: gaps of 1e-14 of the objective, which rounding does not allow"
CONVERGES = "converges within the few iterations that are allowed, so there is nothing to warn about"
LEGACY = "use_legacy_attributes=True, which scikit-learn gives up, is not offered, and said so"
FUTURE = "no warning about what scikit-learn is going to change: ours does as the new way"
CALLBACKS = "scikit-learn's callbacks, new in 1.9, are not offered"

EXPECTED = [
    # coordinate descent
    Expected("test_coordinate_descent.py::test_enet_nonfinite_params", WORDS),
    Expected(
        "test_coordinate_descent.py::test_lasso_dual_gap", "compares a gap of 1e-15, which is rounding, to 7 digits"
    ),
    Expected("test_coordinate_descent.py::test_lassocv_alphas_validation", WORDS),
    Expected("test_coordinate_descent.py::test_lasso_alpha_warning", WORDS),
    Expected("test_coordinate_descent.py::test_1d_multioutput_enet_and_multitask_enet_cv", TOLERANCE),
    Expected("test_coordinate_descent.py::test_1d_multioutput_lasso_and_multitask_lasso_cv", TOLERANCE),
    Expected(
        "test_coordinate_descent.py::test_elasticnet_precompute_incorrect_gram", "a given Gram matrix is not used"
    ),
    Expected("test_coordinate_descent.py::test_overridden_gram_matrix", "a given Gram matrix is not used"),
    Expected("test_coordinate_descent.py::test_warm_start_convergence", COUNT),
    Expected("test_coordinate_descent.py::test_warm_start_convergence_with_regularizer_decrement", COUNT),
    Expected("test_coordinate_descent.py::test_sparse_dense_descent_paths", ONE_TASK, "-2-"),
    Expected("test_coordinate_descent.py::test_path_unknown_parameter", "TypeError instead of ValueError, from Python"),
    Expected("test_coordinate_descent.py::test_check_input_false", "input is checked always: that costs little"),
    Expected(
        "test_coordinate_descent.py::test_enet_copy_X_False_check_input_False",
        "X is left alone also where copy_X=False allows to overwrite it",
    ),
    Expected("test_coordinate_descent.py::test_enet_coordinate_descent_raises_convergence", CONVERGES, "^Lasso-"),
    Expected("test_coordinate_descent.py::test_lassoCV_does_not_set_precompute", INSIDE),
    Expected("test_coordinate_descent.py::test_enet_sample_weight_consistency", TOLERANCE, "-0.01-True-ElasticNet$"),
    Expected("test_coordinate_descent.py::test_path_function_deprecated_n_alphas", FUTURE),
    Expected("test_sparse_coordinate_descent.py::test_path_parameters", TOLERANCE),
    Expected(
        "test_sparse_coordinate_descent.py::test_sparse_dense_equality", TOLERANCE, "False-6-24-0.5-False-ElasticNetCV"
    ),
    Expected("test_sparse_coordinate_descent.py::test_sparse_enet_coordinate_descent", CONVERGES),
    # Huber
    Expected(
        "test_huber.py::test_huber_max_iter", "n_iter_ counts steps over all scales, max_iter bounds those of one"
    ),
    Expected("test_huber.py::test_huber_warm_start", COUNT),
    # Poisson
    Expected("test_glm.py::test_warm_start", INSIDE),
    Expected("test_glm.py::test_poisson_glmnet", TOLERANCE),
    Expected("test_glm.py::test_linalg_warning_with_newton_solver", SOLVER),
    # logistic
    Expected("test_logistic.py::test_check_solver_option", SOLVER),
    Expected("test_logistic.py::test_liblinear_dual_random_state", SOLVER),
    Expected("test_logistic.py::test_logistic_cv", LEGACY, "True"),
    Expected("test_logistic.py::test_logistic_cv_multinomial_score", INSIDE),
    Expected("test_logistic.py::test_multinomial_cv_iris", LEGACY),
    Expected("test_logistic.py::test_logistic_regression_cv_refit", DIGITS, "-0$"),
    Expected("test_logistic.py::test_warm_start", CONVERGES, "(True|False)-False-"),
    Expected("test_logistic.py::test_max_iter", WORDS),
    Expected("test_logistic.py::test_n_iter", LEGACY, "True"),
    Expected("test_logistic.py::test_LogisticRegressionCV_no_refit", LEGACY),
    Expected("test_logistic.py::test_LogisticRegressionCV_elasticnet_attribute_shapes", LEGACY),
    Expected("test_logistic.py::test_LogisticRegressionCV_on_folds", LEGACY),
    Expected("test_logistic.py::test_l1_ratio_non_elasticnet", FUTURE),
    Expected("test_logistic.py::test_penalty_none", FUTURE),
    Expected("test_logistic.py::test_scores_attribute_layout_elasticnet", LEGACY),
    Expected("test_logistic.py::test_liblinear_with_large_values", SOLVER),
    Expected("test_logistic.py::test_lr_cv_scores_differ_when_sample_weight_is_requested", LEGACY),
    Expected("test_logistic.py::test_newton_cholesky_fallback_to_lbfgs", CONVERGES),
    Expected("test_logistic.py::test_liblinear_multiclass_raises", SOLVER),
    Expected("test_logistic.py::test_penalty_deprecated", FUTURE),
    Expected("test_logistic.py::test_logisticregressioncv_warns_with_use_legacy_attributes", FUTURE),
    Expected("test_logistic.py::test_l1_ratio_None_deprecated", FUTURE),
    Expected("test_logistic.py::test_logisticregression_warns_with_n_jobs", FUTURE),
    Expected("test_logistic.py::test_lr_penalty_l1ratio_incompatible", FUTURE, "l1-0.0|l2-1.0"),
    Expected("test_logistic.py::test_lr_scoring_warns", FUTURE),
    Expected("test_logistic.py::test_logistic_regression_callback_support", CALLBACKS),
    Expected("test_logistic.py::test_logistic_regression_callback_fitted_estimator", CALLBACKS),
    Expected("test_logistic.py::test_logistic_regression_callback_support_warning", CALLBACKS),
    # support vectors
    Expected("test_svm.py::test_linearsvc_parameters", WORDS, "True-l1|False-l[12]-hinge"),
    Expected("test_svm.py::test_linearsvc_crammer_singer", "multi_class='crammer_singer' is not offered, and said so"),
    Expected("test_svm.py::test_crammer_singer_binary", "multi_class='crammer_singer' is not offered, and said so"),
    Expected("test_svm.py::test_linear_svm_convergence_warnings", WORDS),
    # ridge
    Expected("test_ridge.py::test_ridge_regression", "asks for the name of the algorithm that was used"),
    Expected("test_ridge.py::test_n_iter", SOLVER),
    Expected("test_ridge.py::test_ridge_fit_intercept_sparse_error", SOLVER),
    Expected("test_ridge.py::test_ridge_fit_intercept_sparse_sag", SOLVER),
    Expected("test_ridge.py::test_ridge_positive_error_test", SOLVER),
    Expected("test_ridge.py::test_lbfgs_solver_error", SOLVER),
]
