"""Teachers: who compares two episodes. Rules, language models, or a person."""
