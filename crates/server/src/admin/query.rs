//! The parameters of a request. What is wrong with one is answered 400 with a sentence.

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

/// Why a request is not answered as it was meant.
#[derive(Debug)]
pub(super) enum AdminError {
    /// It asks for something that cannot be asked for.
    Request(String),
    /// It asks about a session that is not there.
    NoSession,
    /// The server is going down.
    Stopped,
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        match self {
            Self::Request(sentence) => (StatusCode::BAD_REQUEST, sentence + "\n").into_response(),
            Self::NoSession => {
                (StatusCode::NOT_FOUND, "there is no such session\n").into_response()
            }
            Self::Stopped => {
                (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping\n").into_response()
            }
        }
    }
}

/// The parameters as they came.
#[derive(Debug, Default)]
pub(super) struct QueryParameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for QueryParameters {
    type Rejection = AdminError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, AdminError> {
        let read = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(read) = read.map_err(|_| {
            AdminError::Request(
                "the parameters cannot be read: write them as name=value&…".to_owned(),
            )
        })?;
        Ok(Self(read))
    }
}

impl QueryParameters {
    /// The same, if each is known and there only once.
    pub(super) fn only(self, known: &[&str]) -> Result<Self, AdminError> {
        for (index, (name, _)) in self.0.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                let sentence = format!("there is no parameter {name:?} here, only: {known}");
                return Err(AdminError::Request(sentence));
            }
            if self.0[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(AdminError::Request(format!("the parameter {name:?} is there twice")));
            }
        }
        Ok(self)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// A count between one and `max`.
    pub(super) fn count(&self, name: &str, usual: usize, max: usize) -> Result<usize, AdminError> {
        let Some(text) = self.get(name) else { return Ok(usual) };
        match text.parse() {
            Ok(count) if (1..=max).contains(&count) => Ok(count),
            _ => {
                let sentence = format!("{name} must be a number from 1 to {max}, not {text:?}");
                Err(AdminError::Request(sentence))
            }
        }
    }

    /// A 64-bit number.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, AdminError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse().map_err(|_| {
            AdminError::Request(format!("{name} must be a whole number from 0 on, not {text:?}"))
        })?;
        Ok(Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &[(&str, &str)]) -> QueryParameters {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        QueryParameters(text.iter().map(owned).collect())
    }

    fn sentence<T: std::fmt::Debug>(result: Result<T, AdminError>) -> String {
        match result {
            Err(AdminError::Request(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        let count = |text| parameters(&[("sample", text)]).count("sample", 20, 200);
        assert_eq!(parameters(&[]).count("sample", 20, 200).expect("the usual"), 20);
        assert_eq!(count("200").expect("allowed"), 200);
        for wrong in ["0", "201", "-1", "many", "", "1e2", "99999999999999999999999"] {
            assert!(sentence(count(wrong)).contains("from 1 to 200"), "{wrong}");
        }
        assert!(sentence(parameters(&[("x", "1")]).only(&["sample"])).contains("only: sample"));
        let twice = parameters(&[("sample", "1"), ("sample", "2")]);
        assert!(sentence(twice.only(&["sample"])).contains("twice"));
        assert!(sentence(parameters(&[("after", "x")]).number("after")).contains("whole number"));
    }
}
