"""Pure text work: cleaning, sentences, knowledge strips, citations."""
