"""What other programs can use of a run: rewards, policies and environments that need no rewardgen."""
