"""The main job: a stream of records in, an answer to each, a model that can stop anywhere and go on."""
