from ascd.data.device.chunks import Chunks


def passes_of(chunks: Chunks):
    return chunks
