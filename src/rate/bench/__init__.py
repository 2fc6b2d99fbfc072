"""`rate bench`: what acting, training and reading cost, as ratios within one run."""
