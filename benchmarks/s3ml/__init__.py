"""S3ML: error, retrieval, propagation and defaults against other metric learners."""
