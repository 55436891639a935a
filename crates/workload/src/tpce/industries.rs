//! Sectors and industries. The specification's sectors are known by name; the industries
//! are a list of our own, as long as its.

/// Rows of SECTOR, in the order of their ids.
pub(super) const SECTORS: [(&str, &str); 12] = [
    ("BM", "Basic Materials"),
    ("CC", "Consumer Cyclical"),
    ("CG", "Capital Goods"),
    ("CN", "Consumer Non-Cyclical"),
    ("CO", "Conglomerates"),
    ("EN", "Energy"),
    ("FN", "Financial"),
    ("HC", "Healthcare"),
    ("SV", "Services"),
    ("TC", "Technology"),
    ("TR", "Transportation"),
    ("UT", "Utilities"),
];

/// Rows of INDUSTRY (clause 2.6.1.7).
pub(super) const INDUSTRIES: i64 = 102;

const LINES: [&str; 9] = [
    "Equipment",
    "Leasing",
    "Materials",
    "Products",
    "Research",
    "Retail",
    "Suppliers",
    "Systems",
    "Wholesale",
];

/// The sector of an industry, by their places.
pub(super) fn industry_sector(industry: i64) -> usize {
    (industry % SECTORS.len() as i64) as usize
}

/// IN_ID: two letters, in the order of places.
pub(super) fn industry_id(industry: i64) -> String {
    let letter = |number: i64| char::from(b'A' + number as u8);
    String::from_iter([letter(industry / 26), letter(industry % 26)])
}

/// IN_NAME.
pub(super) fn push_industry_name(text: &mut String, industry: i64) {
    let (_, sector) = SECTORS[industry_sector(industry)];
    text.push_str(sector);
    text.push(' ');
    text.push_str(LINES[(industry / SECTORS.len() as i64) as usize]);
}
