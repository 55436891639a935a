"""Pages in InnoDB's files, as MariaDB 10.11 writes them: 16 KiB, numbers big
endian, innodb_checksum_algorithm=full_crc32 (storage/innobase/include/fil0fil.h).

    offset  bytes
         4      4  page number
        16      8  LSN of the last change
        34      4  number of the tablespace
    16,380      4  CRC-32C of all before it

The doublewrite buffer is where MariaDB's TRX_SYS page says; in a new system
tablespace that is pages 64 to 191 of ibdata1 (DOUBLEWRITE in
storage/innobase/include/trx0sys.h).
"""

import struct

PAGE = 16384
DOUBLEWRITE = range(64, 192)


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # the check value of RFC 3720's CRC


def number(page):
    return struct.unpack(">I", page[4:8])[0]


def lsn(page):
    return struct.unpack(">Q", page[16:24])[0]


def space(page):
    return struct.unpack(">I", page[34:38])[0]


def intact(page):
    return any(page) and crc32c(page[:-4]) == struct.unpack(">I", page[-4:])[0]


def read_page(path, index):
    with open(path, "rb") as file:
        file.seek(index * PAGE)
        return file.read(PAGE)


def write(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def doublewrite(data, wanted_space):
    """Intact copies of a tablespace's pages, by page number; the newest of each."""
    copies = {}
    for index in DOUBLEWRITE:
        page = read_page(data + "/ibdata1", index)
        if space(page) == wanted_space and intact(page):
            known = copies.get(number(page))
            if known is None or lsn(known) < lsn(page):
                copies[number(page)] = page
    return copies


def checkpoint(data):
    """Where recovery begins: the newer of the two at 4 and 8 KiB of the log."""
    with open(data + "/ib_logfile0", "rb") as file:
        log = file.read(12288)
    return max(struct.unpack(">Q", log[at:at + 8])[0] for at in (4096, 8192))


def restore_first_page(data, name):
    """Writes the doublewrite buffer's copy over a file's first page if that is
    torn, and tells whether it did."""
    path = data + "/" + name
    if intact(read_page(path, 0)):
        return False
    # The number of the tablespace is in the second page as well.
    copy = doublewrite(data, space(read_page(path, 1))).get(0)
    if copy is None or lsn(copy) < checkpoint(data):
        return False
    write(path, 0, copy)
    return True
