"""scikit-learn's own installed tests, run with this library's estimators in place of its own."""
