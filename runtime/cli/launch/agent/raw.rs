//! Bytes within messages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are mostly text, in JSON: a character for each, so that text stays readable and short.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Raw(pub(super) Vec<u8>);

impl Raw {
    pub(super) fn to_os(&self) -> OsString {
        OsString::from_vec(self.0.clone())
    }
}

impl From<&OsStr> for Raw {
    fn from(text: &OsStr) -> Self {
        Raw(text.as_bytes().to_vec())
    }
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iter().map(|&byte| char::from(byte)).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(|c| u8::try_from(u32::from(c))).collect();
        bytes.map(Raw).map_err(|_| serde::de::Error::custom("a character that is no byte"))
    }
}
