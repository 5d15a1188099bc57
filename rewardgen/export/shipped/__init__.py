"""Files that exports hold as they are here. They are run where there is no rewardgen."""
