"""Files that exports hold as they are here; they run without rewardgen."""
