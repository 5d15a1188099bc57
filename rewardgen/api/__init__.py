"""What `import rewardgen` offers: searching, opening runs, rewards and policies in Python, training and measuring."""
