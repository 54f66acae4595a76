"""What does a training job write to CloudWatch?"""
