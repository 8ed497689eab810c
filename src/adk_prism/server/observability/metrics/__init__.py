"""What a server has done and does now, as numbers that a Prometheus can collect."""
