//! The stream to a server and the bytes that wait on either side of it.
