//! Maps by numbers of the models' own. Nobody chooses these so that they collide, so a fast
//! hash serves, and a fixed one: nothing depends on the order of a map.

use std::collections;

use foldhash::fast::FixedState;

pub(crate) type HashMap<K, V> = collections::HashMap<K, V, FixedState>;
pub(crate) type HashSet<K> = collections::HashSet<K, FixedState>;
