"""Which alarms of template.yaml ring, and when, by the metrics that a queue has published."""
