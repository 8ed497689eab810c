"""What adk-prism can do beyond serving runs: one folder per feature, each on the seam of `extension`."""
