//! One Rust file, read just well enough to judge it.
//!
//! The text is masked: comments and the insides of literals become spaces of the same byte length,
//! so that a search finds code only and every offset still names the same place. Beside that, the
//! lines that belong to tests are known. This is a scanner and no parser: it never rejects a file.

/// A scanned Rust file.
pub struct Source {
    /// Path from the root of the tree, with forward slashes.
    pub path: String,
    /// The file as it is.
    pub text: String,
    /// The file with comments and literal contents blanked.
    pub code: String,
    /// What stood between the quotes of every string literal.
    pub literals: Vec<String>,
    line_starts: Vec<usize>,
    test_lines: Vec<bool>,
}

impl Source {
    /// Scans one file.
    pub fn new(path: &str, text: &str) -> Source {
        let (code, literals) = mask(text);
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
            test_lines: vec![
                is_test_path(path) || code.contains("#![cfg(test)]");
                line_starts.len()
            ],
            code,
            literals,
            line_starts,
        };
        source.mark_test_items();
        source
    }

    /// The line (from 1) on which a byte offset stands.
    pub fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// True when the line (from 1) is part of a test.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.get(line - 1).copied().unwrap_or(false)
    }

    /// True for code that a tool wrote.
    pub fn is_generated(&self) -> bool {
        self.path.split('/').any(|part| part == "generated")
    }

    /// True when the whole file is tests.
    pub fn is_test_file(&self) -> bool {
        is_test_path(&self.path)
    }

    /// Offsets in the code at which `needle` stands as a word of its own.
    pub fn words<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        words(&self.code, needle)
    }

    /// The offset just behind the bracket that closes the one at `open`, or the end of the file.
    pub fn close_of(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (at, byte) in self.code.bytes().enumerate().skip(open) {
            match byte {
                b'{' | b'(' | b'[' => depth += 1,
                b'}' | b')' | b']' => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.code.len()
    }

    /// From `start`, the offset of the first `{` or `;` outside round and square brackets.
    pub fn body_or_end(&self, start: usize) -> Option<(usize, u8)> {
        let mut depth = 0usize;
        for (at, byte) in self.code.bytes().enumerate().skip(start) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b'{' | b';' if depth == 0 => return Some((at, byte)),
                _ => {}
            }
        }
        None
    }

    fn mark_test_items(&mut self) {
        for attribute in ["#[test]", "#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test"] {
            let starts: Vec<usize> = self.code.match_indices(attribute).map(|(at, _)| at).collect();
            for start in starts {
                let end = self.item_end(start);
                for line in self.line(start)..=self.line(end.saturating_sub(1)) {
                    if let Some(mark) = self.test_lines.get_mut(line - 1) {
                        *mark = true;
                    }
                }
            }
        }
    }

    /// Where the item ends whose first attribute starts at `start`.
    fn item_end(&self, start: usize) -> usize {
        let mut at = start;
        loop {
            at += self.code[at..].len() - self.code[at..].trim_start().len();
            if !self.code[at..].starts_with("#[") {
                break;
            }
            at = self.close_of(at + 1);
        }
        const ITEMS: [&str; 14] = [
            "pub", "fn", "mod", "impl", "use", "struct", "enum", "const", "static", "type",
            "trait", "async", "unsafe", "let",
        ];
        let first: String = self.code[at..].chars().take_while(|c| is_word(*c)).collect();
        if !ITEMS.contains(&first.as_str()) {
            return at;
        }
        match self.body_or_end(at) {
            Some((open, b'{')) => self.close_of(open),
            Some((end, _)) => end + 1,
            None => self.code.len(),
        }
    }
}

/// Offsets at which `needle` stands in `text` with no word character touching its outer ends.
pub fn words<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let opens_word = needle.starts_with(is_word);
    let closes_word = needle.ends_with(is_word);
    text.match_indices(needle).map(|(at, _)| at).filter(move |at| {
        let free_before = !opens_word || !text[..*at].ends_with(is_word);
        let free_behind = !closes_word || !text[at + needle.len()..].starts_with(is_word);
        free_before && free_behind
    })
}

/// True for a character that can be part of an identifier.
pub fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples" | "fuzz"))
}

/// Blanks comments and literal contents; also returns the string literals.
fn mask(text: &str) -> (String, Vec<String>) {
    let mut code = String::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let previous = code.chars().next_back().unwrap_or(' ');
        let length = if rest.starts_with("//") {
            blank(&mut code, &rest[..rest.find('\n').unwrap_or(rest.len())])
        } else if rest.starts_with("/*") {
            blank(&mut code, &rest[..block_comment(rest)])
        } else if let Some((open, close, length)) = string_literal(rest, previous) {
            code.push_str(&rest[..open]);
            blank(&mut code, &rest[open..length - close]);
            code.push_str(&rest[length - close..length]);
            literals.push(rest[open..length - close].to_owned());
            length
        } else if let Some(length) = char_literal(rest) {
            blank(&mut code, &rest[..length])
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    (code, literals)
}

fn blank(code: &mut String, text: &str) -> usize {
    for c in text.chars() {
        match c {
            '\n' => code.push('\n'),
            other => code.extend(std::iter::repeat_n(' ', other.len_utf8())),
        }
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// For a string literal at the start: bytes before the content, bytes behind it, whole length.
fn string_literal(text: &str, previous: char) -> Option<(usize, usize, usize)> {
    let prefix = text.bytes().take_while(|b| matches!(b, b'b' | b'c' | b'r')).count();
    if prefix > 2 || (prefix > 0 && is_word(previous)) {
        return None;
    }
    let raw = text[..prefix].contains('r');
    let hashes = if raw { text[prefix..].bytes().take_while(|b| *b == b'#').count() } else { 0 };
    let open = prefix + hashes + 1;
    if text.as_bytes().get(open - 1) != Some(&b'"') {
        return None;
    }
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        let content = text[open..].find(&end);
        return Some(match content {
            Some(length) => (open, end.len(), open + length + end.len()),
            None => (open, 0, text.len()),
        });
    }
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((open, 1, at + 1)),
            _ => {}
        }
    }
    Some((open, 0, text.len()))
}

/// The length of a char literal at the start; a lifetime is none.
fn char_literal(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let skip = escape.chars().next()?.len_utf8();
        return escape[skip..].find('\'').map(|end| 2 + skip + end + 1);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(first + 2)
}

#[cfg(test)]
mod tests;
