impl serde::Serialize for Anonymous {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let len = 0;
        let struct_ser = serializer.serialize_struct("rejoin.v1.Anonymous", len)?;
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Anonymous {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                            Ok(GeneratedField::__SkipField__)
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Anonymous;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Anonymous")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Anonymous, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                while map_.next_key::<GeneratedField>()?.is_some() {
                    let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                }
                Ok(Anonymous {
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Anonymous", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Answer {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.call != 0 {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Answer", len)?;
        if self.call != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("call", ToString::to_string(&self.call).as_str())?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Answer {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "call",
            "payload",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Call,
            Payload,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "call" => Ok(GeneratedField::Call),
                            "payload" => Ok(GeneratedField::Payload),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Answer;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Answer")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Answer, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut call__ = None;
                let mut payload__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Call => {
                            if call__.is_some() {
                                return Err(serde::de::Error::duplicate_field("call"));
                            }
                            call__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Answer {
                    call: call__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Answer", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Applied {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.seq != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Applied", len)?;
        if self.seq != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("seq", ToString::to_string(&self.seq).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Applied {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "seq",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Seq,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "seq" => Ok(GeneratedField::Seq),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Applied;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Applied")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Applied, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut seq__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Seq => {
                            if seq__.is_some() {
                                return Err(serde::de::Error::duplicate_field("seq"));
                            }
                            seq__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Applied {
                    seq: seq__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Applied", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Bye {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let len = 0;
        let struct_ser = serializer.serialize_struct("rejoin.v1.Bye", len)?;
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Bye {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                            Ok(GeneratedField::__SkipField__)
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Bye;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Bye")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Bye, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                while map_.next_key::<GeneratedField>()?.is_some() {
                    let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                }
                Ok(Bye {
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Bye", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Call {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.call != 0 {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        if self.deadline_ms != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Call", len)?;
        if self.call != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("call", ToString::to_string(&self.call).as_str())?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        if self.deadline_ms != 0 {
            struct_ser.serialize_field("deadlineMs", &self.deadline_ms)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Call {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "call",
            "payload",
            "deadline_ms",
            "deadlineMs",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Call,
            Payload,
            DeadlineMs,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "call" => Ok(GeneratedField::Call),
                            "payload" => Ok(GeneratedField::Payload),
                            "deadlineMs" | "deadline_ms" => Ok(GeneratedField::DeadlineMs),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Call;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Call")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Call, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut call__ = None;
                let mut payload__ = None;
                let mut deadline_ms__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Call => {
                            if call__.is_some() {
                                return Err(serde::de::Error::duplicate_field("call"));
                            }
                            call__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::DeadlineMs => {
                            if deadline_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("deadlineMs"));
                            }
                            deadline_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Call {
                    call: call__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                    deadline_ms: deadline_ms__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Call", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Challenge {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.nonce.is_empty() {
            len += 1;
        }
        if self.version_min != 0 {
            len += 1;
        }
        if self.version_max != 0 {
            len += 1;
        }
        if !self.server_name.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Challenge", len)?;
        if !self.nonce.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("nonce", pbjson::private::base64::encode(&self.nonce).as_str())?;
        }
        if self.version_min != 0 {
            struct_ser.serialize_field("versionMin", &self.version_min)?;
        }
        if self.version_max != 0 {
            struct_ser.serialize_field("versionMax", &self.version_max)?;
        }
        if !self.server_name.is_empty() {
            struct_ser.serialize_field("serverName", &self.server_name)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Challenge {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "nonce",
            "version_min",
            "versionMin",
            "version_max",
            "versionMax",
            "server_name",
            "serverName",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Nonce,
            VersionMin,
            VersionMax,
            ServerName,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "nonce" => Ok(GeneratedField::Nonce),
                            "versionMin" | "version_min" => Ok(GeneratedField::VersionMin),
                            "versionMax" | "version_max" => Ok(GeneratedField::VersionMax),
                            "serverName" | "server_name" => Ok(GeneratedField::ServerName),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Challenge;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Challenge")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Challenge, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut nonce__ = None;
                let mut version_min__ = None;
                let mut version_max__ = None;
                let mut server_name__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Nonce => {
                            if nonce__.is_some() {
                                return Err(serde::de::Error::duplicate_field("nonce"));
                            }
                            nonce__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::VersionMin => {
                            if version_min__.is_some() {
                                return Err(serde::de::Error::duplicate_field("versionMin"));
                            }
                            version_min__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::VersionMax => {
                            if version_max__.is_some() {
                                return Err(serde::de::Error::duplicate_field("versionMax"));
                            }
                            version_max__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::ServerName => {
                            if server_name__.is_some() {
                                return Err(serde::de::Error::duplicate_field("serverName"));
                            }
                            server_name__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Challenge {
                    nonce: nonce__.unwrap_or_default(),
                    version_min: version_min__.unwrap_or_default(),
                    version_max: version_max__.unwrap_or_default(),
                    server_name: server_name__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Challenge", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for ClientFrame {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.frame.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.ClientFrame", len)?;
        if let Some(v) = self.frame.as_ref() {
            match v {
                client_frame::Frame::Hello(v) => {
                    struct_ser.serialize_field("hello", v)?;
                }
                client_frame::Frame::Up(v) => {
                    struct_ser.serialize_field("up", v)?;
                }
                client_frame::Frame::Loose(v) => {
                    struct_ser.serialize_field("loose", v)?;
                }
                client_frame::Frame::Ack(v) => {
                    struct_ser.serialize_field("ack", v)?;
                }
                client_frame::Frame::Ping(v) => {
                    struct_ser.serialize_field("ping", v)?;
                }
                client_frame::Frame::Pong(v) => {
                    struct_ser.serialize_field("pong", v)?;
                }
                client_frame::Frame::Packed(v) => {
                    #[allow(clippy::needless_borrow)]
                    #[allow(clippy::needless_borrows_for_generic_args)]
                    struct_ser.serialize_field("packed", pbjson::private::base64::encode(&v).as_str())?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for ClientFrame {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "hello",
            "up",
            "loose",
            "ack",
            "ping",
            "pong",
            "packed",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Hello,
            Up,
            Loose,
            Ack,
            Ping,
            Pong,
            Packed,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "hello" => Ok(GeneratedField::Hello),
                            "up" => Ok(GeneratedField::Up),
                            "loose" => Ok(GeneratedField::Loose),
                            "ack" => Ok(GeneratedField::Ack),
                            "ping" => Ok(GeneratedField::Ping),
                            "pong" => Ok(GeneratedField::Pong),
                            "packed" => Ok(GeneratedField::Packed),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = ClientFrame;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.ClientFrame")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<ClientFrame, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut frame__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Hello => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("hello"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Hello)
;
                        }
                        GeneratedField::Up => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("up"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Up)
;
                        }
                        GeneratedField::Loose => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("loose"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Loose)
;
                        }
                        GeneratedField::Ack => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("ack"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Ack)
;
                        }
                        GeneratedField::Ping => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("ping"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Ping)
;
                        }
                        GeneratedField::Pong => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("pong"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(client_frame::Frame::Pong)
;
                        }
                        GeneratedField::Packed => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("packed"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<::pbjson::private::BytesDeserialize<_>>>()?.map(|x| client_frame::Frame::Packed(x.0));
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(ClientFrame {
                    frame: frame__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.ClientFrame", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for CloseCode {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "CLOSE_CODE_UNSPECIFIED",
            Self::Left => "CLOSE_CODE_LEFT",
            Self::TakenOver => "CLOSE_CODE_TAKEN_OVER",
            Self::LoggedInAgain => "CLOSE_CODE_LOGGED_IN_AGAIN",
            Self::Superseded => "CLOSE_CODE_SUPERSEDED",
            Self::Ended => "CLOSE_CODE_ENDED",
            Self::Malformed => "CLOSE_CODE_MALFORMED",
            Self::OutOfState => "CLOSE_CODE_OUT_OF_STATE",
            Self::TooLarge => "CLOSE_CODE_TOO_LARGE",
            Self::NumberGap => "CLOSE_CODE_NUMBER_GAP",
            Self::AckAhead => "CLOSE_CODE_ACK_AHEAD",
            Self::Version => "CLOSE_CODE_VERSION",
            Self::Flooded => "CLOSE_CODE_FLOODED",
            Self::Credential => "CLOSE_CODE_CREDENTIAL",
            Self::WrongName => "CLOSE_CODE_WRONG_NAME",
            Self::IdentityOff => "CLOSE_CODE_IDENTITY_OFF",
            Self::AdmissionRefused => "CLOSE_CODE_ADMISSION_REFUSED",
            Self::AdmissionTimeout => "CLOSE_CODE_ADMISSION_TIMEOUT",
            Self::Banned => "CLOSE_CODE_BANNED",
            Self::Locked => "CLOSE_CODE_LOCKED",
            Self::SessionUnknown => "CLOSE_CODE_SESSION_UNKNOWN",
            Self::TokenRetired => "CLOSE_CODE_TOKEN_RETIRED",
            Self::HandshakeTimeout => "CLOSE_CODE_HANDSHAKE_TIMEOUT",
            Self::HeartbeatLost => "CLOSE_CODE_HEARTBEAT_LOST",
            Self::TooSlow => "CLOSE_CODE_TOO_SLOW",
            Self::Idle => "CLOSE_CODE_IDLE",
            Self::Lifetime => "CLOSE_CODE_LIFETIME",
            Self::Full => "CLOSE_CODE_FULL",
            Self::NotReady => "CLOSE_CODE_NOT_READY",
            Self::ShuttingDown => "CLOSE_CODE_SHUTTING_DOWN",
            Self::ZoneFault => "CLOSE_CODE_ZONE_FAULT",
            Self::StoreFailed => "CLOSE_CODE_STORE_FAILED",
            Self::Moved => "CLOSE_CODE_MOVED",
            Self::WrongNode => "CLOSE_CODE_WRONG_NODE",
            Self::Kicked => "CLOSE_CODE_KICKED",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for CloseCode {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "CLOSE_CODE_UNSPECIFIED",
            "CLOSE_CODE_LEFT",
            "CLOSE_CODE_TAKEN_OVER",
            "CLOSE_CODE_LOGGED_IN_AGAIN",
            "CLOSE_CODE_SUPERSEDED",
            "CLOSE_CODE_ENDED",
            "CLOSE_CODE_MALFORMED",
            "CLOSE_CODE_OUT_OF_STATE",
            "CLOSE_CODE_TOO_LARGE",
            "CLOSE_CODE_NUMBER_GAP",
            "CLOSE_CODE_ACK_AHEAD",
            "CLOSE_CODE_VERSION",
            "CLOSE_CODE_FLOODED",
            "CLOSE_CODE_CREDENTIAL",
            "CLOSE_CODE_WRONG_NAME",
            "CLOSE_CODE_IDENTITY_OFF",
            "CLOSE_CODE_ADMISSION_REFUSED",
            "CLOSE_CODE_ADMISSION_TIMEOUT",
            "CLOSE_CODE_BANNED",
            "CLOSE_CODE_LOCKED",
            "CLOSE_CODE_SESSION_UNKNOWN",
            "CLOSE_CODE_TOKEN_RETIRED",
            "CLOSE_CODE_HANDSHAKE_TIMEOUT",
            "CLOSE_CODE_HEARTBEAT_LOST",
            "CLOSE_CODE_TOO_SLOW",
            "CLOSE_CODE_IDLE",
            "CLOSE_CODE_LIFETIME",
            "CLOSE_CODE_FULL",
            "CLOSE_CODE_NOT_READY",
            "CLOSE_CODE_SHUTTING_DOWN",
            "CLOSE_CODE_ZONE_FAULT",
            "CLOSE_CODE_STORE_FAILED",
            "CLOSE_CODE_MOVED",
            "CLOSE_CODE_WRONG_NODE",
            "CLOSE_CODE_KICKED",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = CloseCode;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(CloseCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(CloseCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "CLOSE_CODE_UNSPECIFIED" => Ok(CloseCode::Unspecified),
                    "CLOSE_CODE_LEFT" => Ok(CloseCode::Left),
                    "CLOSE_CODE_TAKEN_OVER" => Ok(CloseCode::TakenOver),
                    "CLOSE_CODE_LOGGED_IN_AGAIN" => Ok(CloseCode::LoggedInAgain),
                    "CLOSE_CODE_SUPERSEDED" => Ok(CloseCode::Superseded),
                    "CLOSE_CODE_ENDED" => Ok(CloseCode::Ended),
                    "CLOSE_CODE_MALFORMED" => Ok(CloseCode::Malformed),
                    "CLOSE_CODE_OUT_OF_STATE" => Ok(CloseCode::OutOfState),
                    "CLOSE_CODE_TOO_LARGE" => Ok(CloseCode::TooLarge),
                    "CLOSE_CODE_NUMBER_GAP" => Ok(CloseCode::NumberGap),
                    "CLOSE_CODE_ACK_AHEAD" => Ok(CloseCode::AckAhead),
                    "CLOSE_CODE_VERSION" => Ok(CloseCode::Version),
                    "CLOSE_CODE_FLOODED" => Ok(CloseCode::Flooded),
                    "CLOSE_CODE_CREDENTIAL" => Ok(CloseCode::Credential),
                    "CLOSE_CODE_WRONG_NAME" => Ok(CloseCode::WrongName),
                    "CLOSE_CODE_IDENTITY_OFF" => Ok(CloseCode::IdentityOff),
                    "CLOSE_CODE_ADMISSION_REFUSED" => Ok(CloseCode::AdmissionRefused),
                    "CLOSE_CODE_ADMISSION_TIMEOUT" => Ok(CloseCode::AdmissionTimeout),
                    "CLOSE_CODE_BANNED" => Ok(CloseCode::Banned),
                    "CLOSE_CODE_LOCKED" => Ok(CloseCode::Locked),
                    "CLOSE_CODE_SESSION_UNKNOWN" => Ok(CloseCode::SessionUnknown),
                    "CLOSE_CODE_TOKEN_RETIRED" => Ok(CloseCode::TokenRetired),
                    "CLOSE_CODE_HANDSHAKE_TIMEOUT" => Ok(CloseCode::HandshakeTimeout),
                    "CLOSE_CODE_HEARTBEAT_LOST" => Ok(CloseCode::HeartbeatLost),
                    "CLOSE_CODE_TOO_SLOW" => Ok(CloseCode::TooSlow),
                    "CLOSE_CODE_IDLE" => Ok(CloseCode::Idle),
                    "CLOSE_CODE_LIFETIME" => Ok(CloseCode::Lifetime),
                    "CLOSE_CODE_FULL" => Ok(CloseCode::Full),
                    "CLOSE_CODE_NOT_READY" => Ok(CloseCode::NotReady),
                    "CLOSE_CODE_SHUTTING_DOWN" => Ok(CloseCode::ShuttingDown),
                    "CLOSE_CODE_ZONE_FAULT" => Ok(CloseCode::ZoneFault),
                    "CLOSE_CODE_STORE_FAILED" => Ok(CloseCode::StoreFailed),
                    "CLOSE_CODE_MOVED" => Ok(CloseCode::Moved),
                    "CLOSE_CODE_WRONG_NODE" => Ok(CloseCode::WrongNode),
                    "CLOSE_CODE_KICKED" => Ok(CloseCode::Kicked),
                    _ => Ok(CloseCode::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for Down {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.seq != 0 {
            len += 1;
        }
        if self.body.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Down", len)?;
        if self.seq != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("seq", ToString::to_string(&self.seq).as_str())?;
        }
        if let Some(v) = self.body.as_ref() {
            match v {
                down::Body::Message(v) => {
                    struct_ser.serialize_field("message", v)?;
                }
                down::Body::Reply(v) => {
                    struct_ser.serialize_field("reply", v)?;
                }
                down::Body::Refused(v) => {
                    struct_ser.serialize_field("refused", v)?;
                }
                down::Body::Call(v) => {
                    struct_ser.serialize_field("call", v)?;
                }
                down::Body::Joined(v) => {
                    struct_ser.serialize_field("joined", v)?;
                }
                down::Body::Parted(v) => {
                    struct_ser.serialize_field("parted", v)?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Down {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "seq",
            "message",
            "reply",
            "refused",
            "call",
            "joined",
            "parted",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Seq,
            Message,
            Reply,
            Refused,
            Call,
            Joined,
            Parted,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "seq" => Ok(GeneratedField::Seq),
                            "message" => Ok(GeneratedField::Message),
                            "reply" => Ok(GeneratedField::Reply),
                            "refused" => Ok(GeneratedField::Refused),
                            "call" => Ok(GeneratedField::Call),
                            "joined" => Ok(GeneratedField::Joined),
                            "parted" => Ok(GeneratedField::Parted),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Down;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Down")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Down, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut seq__ = None;
                let mut body__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Seq => {
                            if seq__.is_some() {
                                return Err(serde::de::Error::duplicate_field("seq"));
                            }
                            seq__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Message => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("message"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Message)
;
                        }
                        GeneratedField::Reply => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("reply"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Reply)
;
                        }
                        GeneratedField::Refused => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("refused"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Refused)
;
                        }
                        GeneratedField::Call => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("call"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Call)
;
                        }
                        GeneratedField::Joined => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("joined"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Joined)
;
                        }
                        GeneratedField::Parted => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("parted"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(down::Body::Parted)
;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Down {
                    seq: seq__.unwrap_or_default(),
                    body: body__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Down", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Farewell {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.code != 0 {
            len += 1;
        }
        if !self.text.is_empty() {
            len += 1;
        }
        if self.retry_after_ms != 0 {
            len += 1;
        }
        if !self.addresses.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Farewell", len)?;
        if self.code != 0 {
            let v = CloseCode::try_from(self.code)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.code)))?;
            struct_ser.serialize_field("code", &v)?;
        }
        if !self.text.is_empty() {
            struct_ser.serialize_field("text", &self.text)?;
        }
        if self.retry_after_ms != 0 {
            struct_ser.serialize_field("retryAfterMs", &self.retry_after_ms)?;
        }
        if !self.addresses.is_empty() {
            struct_ser.serialize_field("addresses", &self.addresses)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Farewell {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "code",
            "text",
            "retry_after_ms",
            "retryAfterMs",
            "addresses",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Code,
            Text,
            RetryAfterMs,
            Addresses,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "code" => Ok(GeneratedField::Code),
                            "text" => Ok(GeneratedField::Text),
                            "retryAfterMs" | "retry_after_ms" => Ok(GeneratedField::RetryAfterMs),
                            "addresses" => Ok(GeneratedField::Addresses),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Farewell;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Farewell")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Farewell, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut code__ = None;
                let mut text__ = None;
                let mut retry_after_ms__ = None;
                let mut addresses__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Code => {
                            if code__.is_some() {
                                return Err(serde::de::Error::duplicate_field("code"));
                            }
                            code__ = Some(map_.next_value::<CloseCode>()? as i32);
                        }
                        GeneratedField::Text => {
                            if text__.is_some() {
                                return Err(serde::de::Error::duplicate_field("text"));
                            }
                            text__ = Some(map_.next_value()?);
                        }
                        GeneratedField::RetryAfterMs => {
                            if retry_after_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("retryAfterMs"));
                            }
                            retry_after_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Addresses => {
                            if addresses__.is_some() {
                                return Err(serde::de::Error::duplicate_field("addresses"));
                            }
                            addresses__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Farewell {
                    code: code__.unwrap_or_default(),
                    text: text__.unwrap_or_default(),
                    retry_after_ms: retry_after_ms__.unwrap_or_default(),
                    addresses: addresses__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Farewell", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Hello {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.version != 0 {
            len += 1;
        }
        if !self.server_name.is_empty() {
            len += 1;
        }
        if !self.capabilities.is_empty() {
            len += 1;
        }
        if !self.admission.is_empty() {
            len += 1;
        }
        if self.purpose.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Hello", len)?;
        if self.version != 0 {
            struct_ser.serialize_field("version", &self.version)?;
        }
        if !self.server_name.is_empty() {
            struct_ser.serialize_field("serverName", &self.server_name)?;
        }
        if !self.capabilities.is_empty() {
            struct_ser.serialize_field("capabilities", &self.capabilities)?;
        }
        if !self.admission.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("admission", pbjson::private::base64::encode(&self.admission).as_str())?;
        }
        if let Some(v) = self.purpose.as_ref() {
            match v {
                hello::Purpose::Login(v) => {
                    struct_ser.serialize_field("login", v)?;
                }
                hello::Purpose::Resume(v) => {
                    struct_ser.serialize_field("resume", v)?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Hello {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "version",
            "server_name",
            "serverName",
            "capabilities",
            "admission",
            "login",
            "resume",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Version,
            ServerName,
            Capabilities,
            Admission,
            Login,
            Resume,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "version" => Ok(GeneratedField::Version),
                            "serverName" | "server_name" => Ok(GeneratedField::ServerName),
                            "capabilities" => Ok(GeneratedField::Capabilities),
                            "admission" => Ok(GeneratedField::Admission),
                            "login" => Ok(GeneratedField::Login),
                            "resume" => Ok(GeneratedField::Resume),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Hello;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Hello")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Hello, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut version__ = None;
                let mut server_name__ = None;
                let mut capabilities__ = None;
                let mut admission__ = None;
                let mut purpose__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Version => {
                            if version__.is_some() {
                                return Err(serde::de::Error::duplicate_field("version"));
                            }
                            version__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::ServerName => {
                            if server_name__.is_some() {
                                return Err(serde::de::Error::duplicate_field("serverName"));
                            }
                            server_name__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Capabilities => {
                            if capabilities__.is_some() {
                                return Err(serde::de::Error::duplicate_field("capabilities"));
                            }
                            capabilities__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Admission => {
                            if admission__.is_some() {
                                return Err(serde::de::Error::duplicate_field("admission"));
                            }
                            admission__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Login => {
                            if purpose__.is_some() {
                                return Err(serde::de::Error::duplicate_field("login"));
                            }
                            purpose__ = map_.next_value::<::std::option::Option<_>>()?.map(hello::Purpose::Login)
;
                        }
                        GeneratedField::Resume => {
                            if purpose__.is_some() {
                                return Err(serde::de::Error::duplicate_field("resume"));
                            }
                            purpose__ = map_.next_value::<::std::option::Option<_>>()?.map(hello::Purpose::Resume)
;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Hello {
                    version: version__.unwrap_or_default(),
                    server_name: server_name__.unwrap_or_default(),
                    capabilities: capabilities__.unwrap_or_default(),
                    admission: admission__.unwrap_or_default(),
                    purpose: purpose__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Hello", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Join {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.kind.is_empty() {
            len += 1;
        }
        if !self.name.is_empty() {
            len += 1;
        }
        if self.create {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        if !self.ticket.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Join", len)?;
        if !self.kind.is_empty() {
            struct_ser.serialize_field("kind", &self.kind)?;
        }
        if !self.name.is_empty() {
            struct_ser.serialize_field("name", &self.name)?;
        }
        if self.create {
            struct_ser.serialize_field("create", &self.create)?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        if !self.ticket.is_empty() {
            struct_ser.serialize_field("ticket", &self.ticket)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Join {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "kind",
            "name",
            "create",
            "payload",
            "ticket",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Kind,
            Name,
            Create,
            Payload,
            Ticket,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "kind" => Ok(GeneratedField::Kind),
                            "name" => Ok(GeneratedField::Name),
                            "create" => Ok(GeneratedField::Create),
                            "payload" => Ok(GeneratedField::Payload),
                            "ticket" => Ok(GeneratedField::Ticket),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Join;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Join")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Join, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut kind__ = None;
                let mut name__ = None;
                let mut create__ = None;
                let mut payload__ = None;
                let mut ticket__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Kind => {
                            if kind__.is_some() {
                                return Err(serde::de::Error::duplicate_field("kind"));
                            }
                            kind__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Name => {
                            if name__.is_some() {
                                return Err(serde::de::Error::duplicate_field("name"));
                            }
                            name__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Create => {
                            if create__.is_some() {
                                return Err(serde::de::Error::duplicate_field("create"));
                            }
                            create__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Ticket => {
                            if ticket__.is_some() {
                                return Err(serde::de::Error::duplicate_field("ticket"));
                            }
                            ticket__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Join {
                    kind: kind__.unwrap_or_default(),
                    name: name__.unwrap_or_default(),
                    create: create__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                    ticket: ticket__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Join", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Joined {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.leg != 0 {
            len += 1;
        }
        if self.zone.is_some() {
            len += 1;
        }
        if self.to != 0 {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        if !self.latest.is_empty() {
            len += 1;
        }
        if self.hold_ms != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Joined", len)?;
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if let Some(v) = self.zone.as_ref() {
            struct_ser.serialize_field("zone", v)?;
        }
        if self.to != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("to", ToString::to_string(&self.to).as_str())?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        if !self.latest.is_empty() {
            struct_ser.serialize_field("latest", &self.latest)?;
        }
        if self.hold_ms != 0 {
            struct_ser.serialize_field("holdMs", &self.hold_ms)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Joined {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "leg",
            "zone",
            "to",
            "payload",
            "latest",
            "hold_ms",
            "holdMs",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Leg,
            Zone,
            To,
            Payload,
            Latest,
            HoldMs,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "leg" => Ok(GeneratedField::Leg),
                            "zone" => Ok(GeneratedField::Zone),
                            "to" => Ok(GeneratedField::To),
                            "payload" => Ok(GeneratedField::Payload),
                            "latest" => Ok(GeneratedField::Latest),
                            "holdMs" | "hold_ms" => Ok(GeneratedField::HoldMs),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Joined;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Joined")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Joined, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut leg__ = None;
                let mut zone__ = None;
                let mut to__ = None;
                let mut payload__ = None;
                let mut latest__ = None;
                let mut hold_ms__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Zone => {
                            if zone__.is_some() {
                                return Err(serde::de::Error::duplicate_field("zone"));
                            }
                            zone__ = map_.next_value()?;
                        }
                        GeneratedField::To => {
                            if to__.is_some() {
                                return Err(serde::de::Error::duplicate_field("to"));
                            }
                            to__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Latest => {
                            if latest__.is_some() {
                                return Err(serde::de::Error::duplicate_field("latest"));
                            }
                            latest__ = Some(map_.next_value()?);
                        }
                        GeneratedField::HoldMs => {
                            if hold_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("holdMs"));
                            }
                            hold_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Joined {
                    leg: leg__.unwrap_or_default(),
                    zone: zone__,
                    to: to__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                    latest: latest__.unwrap_or_default(),
                    hold_ms: hold_ms__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Joined", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for KeyProof {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.public_key.is_empty() {
            len += 1;
        }
        if !self.signature.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.KeyProof", len)?;
        if !self.public_key.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("publicKey", pbjson::private::base64::encode(&self.public_key).as_str())?;
        }
        if !self.signature.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("signature", pbjson::private::base64::encode(&self.signature).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for KeyProof {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "public_key",
            "publicKey",
            "signature",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            PublicKey,
            Signature,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "publicKey" | "public_key" => Ok(GeneratedField::PublicKey),
                            "signature" => Ok(GeneratedField::Signature),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = KeyProof;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.KeyProof")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<KeyProof, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut public_key__ = None;
                let mut signature__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::PublicKey => {
                            if public_key__.is_some() {
                                return Err(serde::de::Error::duplicate_field("publicKey"));
                            }
                            public_key__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Signature => {
                            if signature__.is_some() {
                                return Err(serde::de::Error::duplicate_field("signature"));
                            }
                            signature__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(KeyProof {
                    public_key: public_key__.unwrap_or_default(),
                    signature: signature__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.KeyProof", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Latest {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.key.is_empty() {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Latest", len)?;
        if !self.key.is_empty() {
            struct_ser.serialize_field("key", &self.key)?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Latest {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "key",
            "payload",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Key,
            Payload,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "key" => Ok(GeneratedField::Key),
                            "payload" => Ok(GeneratedField::Payload),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Latest;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Latest")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Latest, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut key__ = None;
                let mut payload__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Key => {
                            if key__.is_some() {
                                return Err(serde::de::Error::duplicate_field("key"));
                            }
                            key__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Latest {
                    key: key__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Latest", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Login {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.fresh {
            len += 1;
        }
        if self.identity.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Login", len)?;
        if self.fresh {
            struct_ser.serialize_field("fresh", &self.fresh)?;
        }
        if let Some(v) = self.identity.as_ref() {
            match v {
                login::Identity::Key(v) => {
                    struct_ser.serialize_field("key", v)?;
                }
                login::Identity::Secret(v) => {
                    #[allow(clippy::needless_borrow)]
                    #[allow(clippy::needless_borrows_for_generic_args)]
                    struct_ser.serialize_field("secret", pbjson::private::base64::encode(&v).as_str())?;
                }
                login::Identity::Mint(v) => {
                    struct_ser.serialize_field("mint", v)?;
                }
                login::Identity::Anonymous(v) => {
                    struct_ser.serialize_field("anonymous", v)?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Login {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "fresh",
            "key",
            "secret",
            "mint",
            "anonymous",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Fresh,
            Key,
            Secret,
            Mint,
            Anonymous,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "fresh" => Ok(GeneratedField::Fresh),
                            "key" => Ok(GeneratedField::Key),
                            "secret" => Ok(GeneratedField::Secret),
                            "mint" => Ok(GeneratedField::Mint),
                            "anonymous" => Ok(GeneratedField::Anonymous),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Login;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Login")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Login, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut fresh__ = None;
                let mut identity__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Fresh => {
                            if fresh__.is_some() {
                                return Err(serde::de::Error::duplicate_field("fresh"));
                            }
                            fresh__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Key => {
                            if identity__.is_some() {
                                return Err(serde::de::Error::duplicate_field("key"));
                            }
                            identity__ = map_.next_value::<::std::option::Option<_>>()?.map(login::Identity::Key)
;
                        }
                        GeneratedField::Secret => {
                            if identity__.is_some() {
                                return Err(serde::de::Error::duplicate_field("secret"));
                            }
                            identity__ = map_.next_value::<::std::option::Option<::pbjson::private::BytesDeserialize<_>>>()?.map(|x| login::Identity::Secret(x.0));
                        }
                        GeneratedField::Mint => {
                            if identity__.is_some() {
                                return Err(serde::de::Error::duplicate_field("mint"));
                            }
                            identity__ = map_.next_value::<::std::option::Option<_>>()?.map(login::Identity::Mint)
;
                        }
                        GeneratedField::Anonymous => {
                            if identity__.is_some() {
                                return Err(serde::de::Error::duplicate_field("anonymous"));
                            }
                            identity__ = map_.next_value::<::std::option::Option<_>>()?.map(login::Identity::Anonymous)
;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Login {
                    fresh: fresh__.unwrap_or_default(),
                    identity: identity__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Login", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Loose {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.leg != 0 {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Loose", len)?;
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Loose {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "leg",
            "payload",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Leg,
            Payload,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "leg" => Ok(GeneratedField::Leg),
                            "payload" => Ok(GeneratedField::Payload),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Loose;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Loose")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Loose, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut leg__ = None;
                let mut payload__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Loose {
                    leg: leg__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Loose", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Message {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.payload.is_empty() {
            len += 1;
        }
        if !self.key.is_empty() {
            len += 1;
        }
        if self.cleared {
            len += 1;
        }
        if self.wants_reply {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Message", len)?;
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        if !self.key.is_empty() {
            struct_ser.serialize_field("key", &self.key)?;
        }
        if self.cleared {
            struct_ser.serialize_field("cleared", &self.cleared)?;
        }
        if self.wants_reply {
            struct_ser.serialize_field("wantsReply", &self.wants_reply)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Message {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "payload",
            "key",
            "cleared",
            "wants_reply",
            "wantsReply",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Payload,
            Key,
            Cleared,
            WantsReply,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "payload" => Ok(GeneratedField::Payload),
                            "key" => Ok(GeneratedField::Key),
                            "cleared" => Ok(GeneratedField::Cleared),
                            "wantsReply" | "wants_reply" => Ok(GeneratedField::WantsReply),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Message;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Message")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Message, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut payload__ = None;
                let mut key__ = None;
                let mut cleared__ = None;
                let mut wants_reply__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Key => {
                            if key__.is_some() {
                                return Err(serde::de::Error::duplicate_field("key"));
                            }
                            key__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Cleared => {
                            if cleared__.is_some() {
                                return Err(serde::de::Error::duplicate_field("cleared"));
                            }
                            cleared__ = Some(map_.next_value()?);
                        }
                        GeneratedField::WantsReply => {
                            if wants_reply__.is_some() {
                                return Err(serde::de::Error::duplicate_field("wantsReply"));
                            }
                            wants_reply__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Message {
                    payload: payload__.unwrap_or_default(),
                    key: key__.unwrap_or_default(),
                    cleared: cleared__.unwrap_or_default(),
                    wants_reply: wants_reply__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Message", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for MintSecret {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let len = 0;
        let struct_ser = serializer.serialize_struct("rejoin.v1.MintSecret", len)?;
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for MintSecret {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                            Ok(GeneratedField::__SkipField__)
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = MintSecret;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.MintSecret")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<MintSecret, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                while map_.next_key::<GeneratedField>()?.is_some() {
                    let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                }
                Ok(MintSecret {
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.MintSecret", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Notice {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.code != 0 {
            len += 1;
        }
        if !self.text.is_empty() {
            len += 1;
        }
        if self.wait_ms != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Notice", len)?;
        if self.code != 0 {
            let v = NoticeCode::try_from(self.code)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.code)))?;
            struct_ser.serialize_field("code", &v)?;
        }
        if !self.text.is_empty() {
            struct_ser.serialize_field("text", &self.text)?;
        }
        if self.wait_ms != 0 {
            struct_ser.serialize_field("waitMs", &self.wait_ms)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Notice {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "code",
            "text",
            "wait_ms",
            "waitMs",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Code,
            Text,
            WaitMs,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "code" => Ok(GeneratedField::Code),
                            "text" => Ok(GeneratedField::Text),
                            "waitMs" | "wait_ms" => Ok(GeneratedField::WaitMs),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Notice;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Notice")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Notice, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut code__ = None;
                let mut text__ = None;
                let mut wait_ms__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Code => {
                            if code__.is_some() {
                                return Err(serde::de::Error::duplicate_field("code"));
                            }
                            code__ = Some(map_.next_value::<NoticeCode>()? as i32);
                        }
                        GeneratedField::Text => {
                            if text__.is_some() {
                                return Err(serde::de::Error::duplicate_field("text"));
                            }
                            text__ = Some(map_.next_value()?);
                        }
                        GeneratedField::WaitMs => {
                            if wait_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("waitMs"));
                            }
                            wait_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Notice {
                    code: code__.unwrap_or_default(),
                    text: text__.unwrap_or_default(),
                    wait_ms: wait_ms__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Notice", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for NoticeCode {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "NOTICE_CODE_UNSPECIFIED",
            Self::Throttled => "NOTICE_CODE_THROTTLED",
            Self::Frozen => "NOTICE_CODE_FROZEN",
            Self::Thawed => "NOTICE_CODE_THAWED",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for NoticeCode {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "NOTICE_CODE_UNSPECIFIED",
            "NOTICE_CODE_THROTTLED",
            "NOTICE_CODE_FROZEN",
            "NOTICE_CODE_THAWED",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = NoticeCode;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(NoticeCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(NoticeCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "NOTICE_CODE_UNSPECIFIED" => Ok(NoticeCode::Unspecified),
                    "NOTICE_CODE_THROTTLED" => Ok(NoticeCode::Throttled),
                    "NOTICE_CODE_FROZEN" => Ok(NoticeCode::Frozen),
                    "NOTICE_CODE_THAWED" => Ok(NoticeCode::Thawed),
                    _ => Ok(NoticeCode::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for Part {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let len = 0;
        let struct_ser = serializer.serialize_struct("rejoin.v1.Part", len)?;
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Part {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                            Ok(GeneratedField::__SkipField__)
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Part;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Part")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Part, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                while map_.next_key::<GeneratedField>()?.is_some() {
                    let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                }
                Ok(Part {
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Part", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for PartCause {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "PART_CAUSE_UNSPECIFIED",
            Self::Asked => "PART_CAUSE_ASKED",
            Self::Transferred => "PART_CAUSE_TRANSFERRED",
            Self::Disconnected => "PART_CAUSE_DISCONNECTED",
            Self::HoldEnded => "PART_CAUSE_HOLD_ENDED",
            Self::Kicked => "PART_CAUSE_KICKED",
            Self::ZoneEnded => "PART_CAUSE_ZONE_ENDED",
            Self::ZoneFault => "PART_CAUSE_ZONE_FAULT",
            Self::Left => "PART_CAUSE_LEFT",
            Self::Lost => "PART_CAUSE_LOST",
            Self::SessionEnded => "PART_CAUSE_SESSION_ENDED",
            Self::SeatLost => "PART_CAUSE_SEAT_LOST",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for PartCause {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "PART_CAUSE_UNSPECIFIED",
            "PART_CAUSE_ASKED",
            "PART_CAUSE_TRANSFERRED",
            "PART_CAUSE_DISCONNECTED",
            "PART_CAUSE_HOLD_ENDED",
            "PART_CAUSE_KICKED",
            "PART_CAUSE_ZONE_ENDED",
            "PART_CAUSE_ZONE_FAULT",
            "PART_CAUSE_LEFT",
            "PART_CAUSE_LOST",
            "PART_CAUSE_SESSION_ENDED",
            "PART_CAUSE_SEAT_LOST",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = PartCause;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(PartCause::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(PartCause::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "PART_CAUSE_UNSPECIFIED" => Ok(PartCause::Unspecified),
                    "PART_CAUSE_ASKED" => Ok(PartCause::Asked),
                    "PART_CAUSE_TRANSFERRED" => Ok(PartCause::Transferred),
                    "PART_CAUSE_DISCONNECTED" => Ok(PartCause::Disconnected),
                    "PART_CAUSE_HOLD_ENDED" => Ok(PartCause::HoldEnded),
                    "PART_CAUSE_KICKED" => Ok(PartCause::Kicked),
                    "PART_CAUSE_ZONE_ENDED" => Ok(PartCause::ZoneEnded),
                    "PART_CAUSE_ZONE_FAULT" => Ok(PartCause::ZoneFault),
                    "PART_CAUSE_LEFT" => Ok(PartCause::Left),
                    "PART_CAUSE_LOST" => Ok(PartCause::Lost),
                    "PART_CAUSE_SESSION_ENDED" => Ok(PartCause::SessionEnded),
                    "PART_CAUSE_SEAT_LOST" => Ok(PartCause::SeatLost),
                    _ => Ok(PartCause::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for Parted {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.leg != 0 {
            len += 1;
        }
        if self.cause != 0 {
            len += 1;
        }
        if !self.text.is_empty() {
            len += 1;
        }
        if self.to != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Parted", len)?;
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if self.cause != 0 {
            let v = PartCause::try_from(self.cause)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.cause)))?;
            struct_ser.serialize_field("cause", &v)?;
        }
        if !self.text.is_empty() {
            struct_ser.serialize_field("text", &self.text)?;
        }
        if self.to != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("to", ToString::to_string(&self.to).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Parted {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "leg",
            "cause",
            "text",
            "to",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Leg,
            Cause,
            Text,
            To,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "leg" => Ok(GeneratedField::Leg),
                            "cause" => Ok(GeneratedField::Cause),
                            "text" => Ok(GeneratedField::Text),
                            "to" => Ok(GeneratedField::To),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Parted;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Parted")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Parted, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut leg__ = None;
                let mut cause__ = None;
                let mut text__ = None;
                let mut to__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Cause => {
                            if cause__.is_some() {
                                return Err(serde::de::Error::duplicate_field("cause"));
                            }
                            cause__ = Some(map_.next_value::<PartCause>()? as i32);
                        }
                        GeneratedField::Text => {
                            if text__.is_some() {
                                return Err(serde::de::Error::duplicate_field("text"));
                            }
                            text__ = Some(map_.next_value()?);
                        }
                        GeneratedField::To => {
                            if to__.is_some() {
                                return Err(serde::de::Error::duplicate_field("to"));
                            }
                            to__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Parted {
                    leg: leg__.unwrap_or_default(),
                    cause: cause__.unwrap_or_default(),
                    text: text__.unwrap_or_default(),
                    to: to__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Parted", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Ping {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.nonce != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Ping", len)?;
        if self.nonce != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("nonce", ToString::to_string(&self.nonce).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Ping {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "nonce",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Nonce,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "nonce" => Ok(GeneratedField::Nonce),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Ping;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Ping")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Ping, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut nonce__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Nonce => {
                            if nonce__.is_some() {
                                return Err(serde::de::Error::duplicate_field("nonce"));
                            }
                            nonce__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Ping {
                    nonce: nonce__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Ping", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Pong {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.nonce != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Pong", len)?;
        if self.nonce != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("nonce", ToString::to_string(&self.nonce).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Pong {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "nonce",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Nonce,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "nonce" => Ok(GeneratedField::Nonce),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Pong;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Pong")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Pong, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut nonce__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Nonce => {
                            if nonce__.is_some() {
                                return Err(serde::de::Error::duplicate_field("nonce"));
                            }
                            nonce__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Pong {
                    nonce: nonce__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Pong", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Position {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.leg != 0 {
            len += 1;
        }
        if self.seq != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Position", len)?;
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if self.seq != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("seq", ToString::to_string(&self.seq).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Position {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "leg",
            "seq",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Leg,
            Seq,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "leg" => Ok(GeneratedField::Leg),
                            "seq" => Ok(GeneratedField::Seq),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Position;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Position")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Position, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut leg__ = None;
                let mut seq__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Seq => {
                            if seq__.is_some() {
                                return Err(serde::de::Error::duplicate_field("seq"));
                            }
                            seq__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Position {
                    leg: leg__.unwrap_or_default(),
                    seq: seq__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Position", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Refusal {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.code != 0 {
            len += 1;
        }
        if !self.text.is_empty() {
            len += 1;
        }
        if self.retry_after_ms != 0 {
            len += 1;
        }
        if !self.addresses.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Refusal", len)?;
        if self.code != 0 {
            let v = CloseCode::try_from(self.code)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.code)))?;
            struct_ser.serialize_field("code", &v)?;
        }
        if !self.text.is_empty() {
            struct_ser.serialize_field("text", &self.text)?;
        }
        if self.retry_after_ms != 0 {
            struct_ser.serialize_field("retryAfterMs", &self.retry_after_ms)?;
        }
        if !self.addresses.is_empty() {
            struct_ser.serialize_field("addresses", &self.addresses)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Refusal {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "code",
            "text",
            "retry_after_ms",
            "retryAfterMs",
            "addresses",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Code,
            Text,
            RetryAfterMs,
            Addresses,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "code" => Ok(GeneratedField::Code),
                            "text" => Ok(GeneratedField::Text),
                            "retryAfterMs" | "retry_after_ms" => Ok(GeneratedField::RetryAfterMs),
                            "addresses" => Ok(GeneratedField::Addresses),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Refusal;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Refusal")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Refusal, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut code__ = None;
                let mut text__ = None;
                let mut retry_after_ms__ = None;
                let mut addresses__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Code => {
                            if code__.is_some() {
                                return Err(serde::de::Error::duplicate_field("code"));
                            }
                            code__ = Some(map_.next_value::<CloseCode>()? as i32);
                        }
                        GeneratedField::Text => {
                            if text__.is_some() {
                                return Err(serde::de::Error::duplicate_field("text"));
                            }
                            text__ = Some(map_.next_value()?);
                        }
                        GeneratedField::RetryAfterMs => {
                            if retry_after_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("retryAfterMs"));
                            }
                            retry_after_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Addresses => {
                            if addresses__.is_some() {
                                return Err(serde::de::Error::duplicate_field("addresses"));
                            }
                            addresses__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Refusal {
                    code: code__.unwrap_or_default(),
                    text: text__.unwrap_or_default(),
                    retry_after_ms: retry_after_ms__.unwrap_or_default(),
                    addresses: addresses__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Refusal", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for RefusalCode {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "REFUSAL_CODE_UNSPECIFIED",
            Self::AlreadyJoined => "REFUSAL_CODE_ALREADY_JOINED",
            Self::UnknownZone => "REFUSAL_CODE_UNKNOWN_ZONE",
            Self::ZoneFull => "REFUSAL_CODE_ZONE_FULL",
            Self::JoinDenied => "REFUSAL_CODE_JOIN_DENIED",
            Self::AlreadyHere => "REFUSAL_CODE_ALREADY_HERE",
            Self::NotMember => "REFUSAL_CODE_NOT_MEMBER",
            Self::ZoneFault => "REFUSAL_CODE_ZONE_FAULT",
            Self::ZoneEnding => "REFUSAL_CODE_ZONE_ENDING",
            Self::RingShare => "REFUSAL_CODE_RING_SHARE",
            Self::BadPayload => "REFUSAL_CODE_BAD_PAYLOAD",
            Self::UnknownCall => "REFUSAL_CODE_UNKNOWN_CALL",
            Self::CreateDenied => "REFUSAL_CODE_CREATE_DENIED",
            Self::SeatRequired => "REFUSAL_CODE_SEAT_REQUIRED",
            Self::SeatUnknown => "REFUSAL_CODE_SEAT_UNKNOWN",
            Self::SeatNotYours => "REFUSAL_CODE_SEAT_NOT_YOURS",
            Self::SeatOver => "REFUSAL_CODE_SEAT_OVER",
            Self::SeatTaken => "REFUSAL_CODE_SEAT_TAKEN",
            Self::GameOver => "REFUSAL_CODE_GAME_OVER",
            Self::SeatsUnavailable => "REFUSAL_CODE_SEATS_UNAVAILABLE",
            Self::UnknownKind => "REFUSAL_CODE_UNKNOWN_KIND",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for RefusalCode {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "REFUSAL_CODE_UNSPECIFIED",
            "REFUSAL_CODE_ALREADY_JOINED",
            "REFUSAL_CODE_UNKNOWN_ZONE",
            "REFUSAL_CODE_ZONE_FULL",
            "REFUSAL_CODE_JOIN_DENIED",
            "REFUSAL_CODE_ALREADY_HERE",
            "REFUSAL_CODE_NOT_MEMBER",
            "REFUSAL_CODE_ZONE_FAULT",
            "REFUSAL_CODE_ZONE_ENDING",
            "REFUSAL_CODE_RING_SHARE",
            "REFUSAL_CODE_BAD_PAYLOAD",
            "REFUSAL_CODE_UNKNOWN_CALL",
            "REFUSAL_CODE_CREATE_DENIED",
            "REFUSAL_CODE_SEAT_REQUIRED",
            "REFUSAL_CODE_SEAT_UNKNOWN",
            "REFUSAL_CODE_SEAT_NOT_YOURS",
            "REFUSAL_CODE_SEAT_OVER",
            "REFUSAL_CODE_SEAT_TAKEN",
            "REFUSAL_CODE_GAME_OVER",
            "REFUSAL_CODE_SEATS_UNAVAILABLE",
            "REFUSAL_CODE_UNKNOWN_KIND",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = RefusalCode;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(RefusalCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(RefusalCode::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "REFUSAL_CODE_UNSPECIFIED" => Ok(RefusalCode::Unspecified),
                    "REFUSAL_CODE_ALREADY_JOINED" => Ok(RefusalCode::AlreadyJoined),
                    "REFUSAL_CODE_UNKNOWN_ZONE" => Ok(RefusalCode::UnknownZone),
                    "REFUSAL_CODE_ZONE_FULL" => Ok(RefusalCode::ZoneFull),
                    "REFUSAL_CODE_JOIN_DENIED" => Ok(RefusalCode::JoinDenied),
                    "REFUSAL_CODE_ALREADY_HERE" => Ok(RefusalCode::AlreadyHere),
                    "REFUSAL_CODE_NOT_MEMBER" => Ok(RefusalCode::NotMember),
                    "REFUSAL_CODE_ZONE_FAULT" => Ok(RefusalCode::ZoneFault),
                    "REFUSAL_CODE_ZONE_ENDING" => Ok(RefusalCode::ZoneEnding),
                    "REFUSAL_CODE_RING_SHARE" => Ok(RefusalCode::RingShare),
                    "REFUSAL_CODE_BAD_PAYLOAD" => Ok(RefusalCode::BadPayload),
                    "REFUSAL_CODE_UNKNOWN_CALL" => Ok(RefusalCode::UnknownCall),
                    "REFUSAL_CODE_CREATE_DENIED" => Ok(RefusalCode::CreateDenied),
                    "REFUSAL_CODE_SEAT_REQUIRED" => Ok(RefusalCode::SeatRequired),
                    "REFUSAL_CODE_SEAT_UNKNOWN" => Ok(RefusalCode::SeatUnknown),
                    "REFUSAL_CODE_SEAT_NOT_YOURS" => Ok(RefusalCode::SeatNotYours),
                    "REFUSAL_CODE_SEAT_OVER" => Ok(RefusalCode::SeatOver),
                    "REFUSAL_CODE_SEAT_TAKEN" => Ok(RefusalCode::SeatTaken),
                    "REFUSAL_CODE_GAME_OVER" => Ok(RefusalCode::GameOver),
                    "REFUSAL_CODE_SEATS_UNAVAILABLE" => Ok(RefusalCode::SeatsUnavailable),
                    "REFUSAL_CODE_UNKNOWN_KIND" => Ok(RefusalCode::UnknownKind),
                    _ => Ok(RefusalCode::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for Refused {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.to != 0 {
            len += 1;
        }
        if self.code != 0 {
            len += 1;
        }
        if !self.text.is_empty() {
            len += 1;
        }
        if self.leg != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Refused", len)?;
        if self.to != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("to", ToString::to_string(&self.to).as_str())?;
        }
        if self.code != 0 {
            let v = RefusalCode::try_from(self.code)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.code)))?;
            struct_ser.serialize_field("code", &v)?;
        }
        if !self.text.is_empty() {
            struct_ser.serialize_field("text", &self.text)?;
        }
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Refused {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "to",
            "code",
            "text",
            "leg",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            To,
            Code,
            Text,
            Leg,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "to" => Ok(GeneratedField::To),
                            "code" => Ok(GeneratedField::Code),
                            "text" => Ok(GeneratedField::Text),
                            "leg" => Ok(GeneratedField::Leg),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Refused;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Refused")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Refused, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut to__ = None;
                let mut code__ = None;
                let mut text__ = None;
                let mut leg__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::To => {
                            if to__.is_some() {
                                return Err(serde::de::Error::duplicate_field("to"));
                            }
                            to__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Code => {
                            if code__.is_some() {
                                return Err(serde::de::Error::duplicate_field("code"));
                            }
                            code__ = Some(map_.next_value::<RefusalCode>()? as i32);
                        }
                        GeneratedField::Text => {
                            if text__.is_some() {
                                return Err(serde::de::Error::duplicate_field("text"));
                            }
                            text__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Refused {
                    to: to__.unwrap_or_default(),
                    code: code__.unwrap_or_default(),
                    text: text__.unwrap_or_default(),
                    leg: leg__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Refused", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Reply {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.to != 0 {
            len += 1;
        }
        if !self.payload.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Reply", len)?;
        if self.to != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("to", ToString::to_string(&self.to).as_str())?;
        }
        if !self.payload.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("payload", pbjson::private::base64::encode(&self.payload).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Reply {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "to",
            "payload",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            To,
            Payload,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "to" => Ok(GeneratedField::To),
                            "payload" => Ok(GeneratedField::Payload),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Reply;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Reply")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Reply, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut to__ = None;
                let mut payload__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::To => {
                            if to__.is_some() {
                                return Err(serde::de::Error::duplicate_field("to"));
                            }
                            to__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Payload => {
                            if payload__.is_some() {
                                return Err(serde::de::Error::duplicate_field("payload"));
                            }
                            payload__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Reply {
                    to: to__.unwrap_or_default(),
                    payload: payload__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Reply", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Resume {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.session != 0 {
            len += 1;
        }
        if !self.token.is_empty() {
            len += 1;
        }
        if self.key.is_some() {
            len += 1;
        }
        if self.epoch != 0 {
            len += 1;
        }
        if self.cold {
            len += 1;
        }
        if self.position.is_some() {
            len += 1;
        }
        if self.oldest_unacked != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Resume", len)?;
        if self.session != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("session", ToString::to_string(&self.session).as_str())?;
        }
        if !self.token.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("token", pbjson::private::base64::encode(&self.token).as_str())?;
        }
        if let Some(v) = self.key.as_ref() {
            struct_ser.serialize_field("key", v)?;
        }
        if self.epoch != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("epoch", ToString::to_string(&self.epoch).as_str())?;
        }
        if self.cold {
            struct_ser.serialize_field("cold", &self.cold)?;
        }
        if let Some(v) = self.position.as_ref() {
            struct_ser.serialize_field("position", v)?;
        }
        if self.oldest_unacked != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("oldestUnacked", ToString::to_string(&self.oldest_unacked).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Resume {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "session",
            "token",
            "key",
            "epoch",
            "cold",
            "position",
            "oldest_unacked",
            "oldestUnacked",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Session,
            Token,
            Key,
            Epoch,
            Cold,
            Position,
            OldestUnacked,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "session" => Ok(GeneratedField::Session),
                            "token" => Ok(GeneratedField::Token),
                            "key" => Ok(GeneratedField::Key),
                            "epoch" => Ok(GeneratedField::Epoch),
                            "cold" => Ok(GeneratedField::Cold),
                            "position" => Ok(GeneratedField::Position),
                            "oldestUnacked" | "oldest_unacked" => Ok(GeneratedField::OldestUnacked),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Resume;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Resume")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Resume, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut session__ = None;
                let mut token__ = None;
                let mut key__ = None;
                let mut epoch__ = None;
                let mut cold__ = None;
                let mut position__ = None;
                let mut oldest_unacked__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Session => {
                            if session__.is_some() {
                                return Err(serde::de::Error::duplicate_field("session"));
                            }
                            session__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Token => {
                            if token__.is_some() {
                                return Err(serde::de::Error::duplicate_field("token"));
                            }
                            token__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Key => {
                            if key__.is_some() {
                                return Err(serde::de::Error::duplicate_field("key"));
                            }
                            key__ = map_.next_value()?;
                        }
                        GeneratedField::Epoch => {
                            if epoch__.is_some() {
                                return Err(serde::de::Error::duplicate_field("epoch"));
                            }
                            epoch__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Cold => {
                            if cold__.is_some() {
                                return Err(serde::de::Error::duplicate_field("cold"));
                            }
                            cold__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Position => {
                            if position__.is_some() {
                                return Err(serde::de::Error::duplicate_field("position"));
                            }
                            position__ = map_.next_value()?;
                        }
                        GeneratedField::OldestUnacked => {
                            if oldest_unacked__.is_some() {
                                return Err(serde::de::Error::duplicate_field("oldestUnacked"));
                            }
                            oldest_unacked__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Resume {
                    session: session__.unwrap_or_default(),
                    token: token__.unwrap_or_default(),
                    key: key__,
                    epoch: epoch__.unwrap_or_default(),
                    cold: cold__.unwrap_or_default(),
                    position: position__,
                    oldest_unacked: oldest_unacked__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Resume", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Resync {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.leg != 0 {
            len += 1;
        }
        if self.seq != 0 {
            len += 1;
        }
        if self.reason != 0 {
            len += 1;
        }
        if !self.snapshot.is_empty() {
            len += 1;
        }
        if !self.latest.is_empty() {
            len += 1;
        }
        if self.zone.is_some() {
            len += 1;
        }
        if self.applied != 0 {
            len += 1;
        }
        if self.lost_upstream != 0 {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Resync", len)?;
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if self.seq != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("seq", ToString::to_string(&self.seq).as_str())?;
        }
        if self.reason != 0 {
            let v = RungReason::try_from(self.reason)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.reason)))?;
            struct_ser.serialize_field("reason", &v)?;
        }
        if !self.snapshot.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("snapshot", pbjson::private::base64::encode(&self.snapshot).as_str())?;
        }
        if !self.latest.is_empty() {
            struct_ser.serialize_field("latest", &self.latest)?;
        }
        if let Some(v) = self.zone.as_ref() {
            struct_ser.serialize_field("zone", v)?;
        }
        if self.applied != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("applied", ToString::to_string(&self.applied).as_str())?;
        }
        if self.lost_upstream != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("lostUpstream", ToString::to_string(&self.lost_upstream).as_str())?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Resync {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "leg",
            "seq",
            "reason",
            "snapshot",
            "latest",
            "zone",
            "applied",
            "lost_upstream",
            "lostUpstream",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Leg,
            Seq,
            Reason,
            Snapshot,
            Latest,
            Zone,
            Applied,
            LostUpstream,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "leg" => Ok(GeneratedField::Leg),
                            "seq" => Ok(GeneratedField::Seq),
                            "reason" => Ok(GeneratedField::Reason),
                            "snapshot" => Ok(GeneratedField::Snapshot),
                            "latest" => Ok(GeneratedField::Latest),
                            "zone" => Ok(GeneratedField::Zone),
                            "applied" => Ok(GeneratedField::Applied),
                            "lostUpstream" | "lost_upstream" => Ok(GeneratedField::LostUpstream),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Resync;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Resync")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Resync, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut leg__ = None;
                let mut seq__ = None;
                let mut reason__ = None;
                let mut snapshot__ = None;
                let mut latest__ = None;
                let mut zone__ = None;
                let mut applied__ = None;
                let mut lost_upstream__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Seq => {
                            if seq__.is_some() {
                                return Err(serde::de::Error::duplicate_field("seq"));
                            }
                            seq__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Reason => {
                            if reason__.is_some() {
                                return Err(serde::de::Error::duplicate_field("reason"));
                            }
                            reason__ = Some(map_.next_value::<RungReason>()? as i32);
                        }
                        GeneratedField::Snapshot => {
                            if snapshot__.is_some() {
                                return Err(serde::de::Error::duplicate_field("snapshot"));
                            }
                            snapshot__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Latest => {
                            if latest__.is_some() {
                                return Err(serde::de::Error::duplicate_field("latest"));
                            }
                            latest__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Zone => {
                            if zone__.is_some() {
                                return Err(serde::de::Error::duplicate_field("zone"));
                            }
                            zone__ = map_.next_value()?;
                        }
                        GeneratedField::Applied => {
                            if applied__.is_some() {
                                return Err(serde::de::Error::duplicate_field("applied"));
                            }
                            applied__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::LostUpstream => {
                            if lost_upstream__.is_some() {
                                return Err(serde::de::Error::duplicate_field("lostUpstream"));
                            }
                            lost_upstream__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Resync {
                    leg: leg__.unwrap_or_default(),
                    seq: seq__.unwrap_or_default(),
                    reason: reason__.unwrap_or_default(),
                    snapshot: snapshot__.unwrap_or_default(),
                    latest: latest__.unwrap_or_default(),
                    zone: zone__,
                    applied: applied__.unwrap_or_default(),
                    lost_upstream: lost_upstream__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Resync", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Rung {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "RUNG_UNSPECIFIED",
            Self::Replayed => "RUNG_REPLAYED",
            Self::Resynced => "RUNG_RESYNCED",
            Self::New => "RUNG_NEW",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for Rung {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "RUNG_UNSPECIFIED",
            "RUNG_REPLAYED",
            "RUNG_RESYNCED",
            "RUNG_NEW",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = Rung;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(Rung::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(Rung::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "RUNG_UNSPECIFIED" => Ok(Rung::Unspecified),
                    "RUNG_REPLAYED" => Ok(Rung::Replayed),
                    "RUNG_RESYNCED" => Ok(Rung::Resynced),
                    "RUNG_NEW" => Ok(Rung::New),
                    _ => Ok(Rung::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for RungReason {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        let variant = match self {
            Self::Unspecified => "RUNG_REASON_UNSPECIFIED",
            Self::Complete => "RUNG_REASON_COMPLETE",
            Self::Cold => "RUNG_REASON_COLD",
            Self::Overrun => "RUNG_REASON_OVERRUN",
            Self::RolledBack => "RUNG_REASON_ROLLED_BACK",
            Self::ZoneLost => "RUNG_REASON_ZONE_LOST",
            Self::UnknownPosition => "RUNG_REASON_UNKNOWN_POSITION",
            Self::First => "RUNG_REASON_FIRST",
            Self::Fresh => "RUNG_REASON_FRESH",
        };
        serializer.serialize_str(variant)
    }
}
impl<'de> serde::Deserialize<'de> for RungReason {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "RUNG_REASON_UNSPECIFIED",
            "RUNG_REASON_COMPLETE",
            "RUNG_REASON_COLD",
            "RUNG_REASON_OVERRUN",
            "RUNG_REASON_ROLLED_BACK",
            "RUNG_REASON_ZONE_LOST",
            "RUNG_REASON_UNKNOWN_POSITION",
            "RUNG_REASON_FIRST",
            "RUNG_REASON_FRESH",
        ];

        struct GeneratedVisitor;

        impl serde::de::Visitor<'_> for GeneratedVisitor {
            type Value = RungReason;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "expected one of: {:?}", &FIELDS)
            }

            fn visit_i64<E>(self, v: i64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(RungReason::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Signed(v), &self)
                    })
            }

            fn visit_u64<E>(self, v: u64) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                i32::try_from(v)
                    .ok()
                    .and_then(|x| x.try_into().ok().or_else(|| Some(RungReason::default())))
                    .ok_or_else(|| {
                        serde::de::Error::invalid_value(serde::de::Unexpected::Unsigned(v), &self)
                    })
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Self::Value, E>
            where
                E: serde::de::Error,
            {
                match value {
                    "RUNG_REASON_UNSPECIFIED" => Ok(RungReason::Unspecified),
                    "RUNG_REASON_COMPLETE" => Ok(RungReason::Complete),
                    "RUNG_REASON_COLD" => Ok(RungReason::Cold),
                    "RUNG_REASON_OVERRUN" => Ok(RungReason::Overrun),
                    "RUNG_REASON_ROLLED_BACK" => Ok(RungReason::RolledBack),
                    "RUNG_REASON_ZONE_LOST" => Ok(RungReason::ZoneLost),
                    "RUNG_REASON_UNKNOWN_POSITION" => Ok(RungReason::UnknownPosition),
                    "RUNG_REASON_FIRST" => Ok(RungReason::First),
                    "RUNG_REASON_FRESH" => Ok(RungReason::Fresh),
                    _ => Ok(RungReason::default()),
                }
            }
        }
        deserializer.deserialize_any(GeneratedVisitor)
    }
}
impl serde::Serialize for ServerFrame {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.frame.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.ServerFrame", len)?;
        if let Some(v) = self.frame.as_ref() {
            match v {
                server_frame::Frame::Challenge(v) => {
                    struct_ser.serialize_field("challenge", v)?;
                }
                server_frame::Frame::Welcome(v) => {
                    struct_ser.serialize_field("welcome", v)?;
                }
                server_frame::Frame::Refusal(v) => {
                    struct_ser.serialize_field("refusal", v)?;
                }
                server_frame::Frame::Down(v) => {
                    struct_ser.serialize_field("down", v)?;
                }
                server_frame::Frame::Loose(v) => {
                    struct_ser.serialize_field("loose", v)?;
                }
                server_frame::Frame::Applied(v) => {
                    struct_ser.serialize_field("applied", v)?;
                }
                server_frame::Frame::Ping(v) => {
                    struct_ser.serialize_field("ping", v)?;
                }
                server_frame::Frame::Pong(v) => {
                    struct_ser.serialize_field("pong", v)?;
                }
                server_frame::Frame::Resync(v) => {
                    struct_ser.serialize_field("resync", v)?;
                }
                server_frame::Frame::Notice(v) => {
                    struct_ser.serialize_field("notice", v)?;
                }
                server_frame::Frame::Farewell(v) => {
                    struct_ser.serialize_field("farewell", v)?;
                }
                server_frame::Frame::Packed(v) => {
                    #[allow(clippy::needless_borrow)]
                    #[allow(clippy::needless_borrows_for_generic_args)]
                    struct_ser.serialize_field("packed", pbjson::private::base64::encode(&v).as_str())?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for ServerFrame {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "challenge",
            "welcome",
            "refusal",
            "down",
            "loose",
            "applied",
            "ping",
            "pong",
            "resync",
            "notice",
            "farewell",
            "packed",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Challenge,
            Welcome,
            Refusal,
            Down,
            Loose,
            Applied,
            Ping,
            Pong,
            Resync,
            Notice,
            Farewell,
            Packed,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "challenge" => Ok(GeneratedField::Challenge),
                            "welcome" => Ok(GeneratedField::Welcome),
                            "refusal" => Ok(GeneratedField::Refusal),
                            "down" => Ok(GeneratedField::Down),
                            "loose" => Ok(GeneratedField::Loose),
                            "applied" => Ok(GeneratedField::Applied),
                            "ping" => Ok(GeneratedField::Ping),
                            "pong" => Ok(GeneratedField::Pong),
                            "resync" => Ok(GeneratedField::Resync),
                            "notice" => Ok(GeneratedField::Notice),
                            "farewell" => Ok(GeneratedField::Farewell),
                            "packed" => Ok(GeneratedField::Packed),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = ServerFrame;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.ServerFrame")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<ServerFrame, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut frame__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Challenge => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("challenge"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Challenge)
;
                        }
                        GeneratedField::Welcome => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("welcome"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Welcome)
;
                        }
                        GeneratedField::Refusal => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("refusal"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Refusal)
;
                        }
                        GeneratedField::Down => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("down"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Down)
;
                        }
                        GeneratedField::Loose => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("loose"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Loose)
;
                        }
                        GeneratedField::Applied => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("applied"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Applied)
;
                        }
                        GeneratedField::Ping => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("ping"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Ping)
;
                        }
                        GeneratedField::Pong => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("pong"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Pong)
;
                        }
                        GeneratedField::Resync => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("resync"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Resync)
;
                        }
                        GeneratedField::Notice => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("notice"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Notice)
;
                        }
                        GeneratedField::Farewell => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("farewell"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<_>>()?.map(server_frame::Frame::Farewell)
;
                        }
                        GeneratedField::Packed => {
                            if frame__.is_some() {
                                return Err(serde::de::Error::duplicate_field("packed"));
                            }
                            frame__ = map_.next_value::<::std::option::Option<::pbjson::private::BytesDeserialize<_>>>()?.map(|x| server_frame::Frame::Packed(x.0));
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(ServerFrame {
                    frame: frame__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.ServerFrame", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Up {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.seq != 0 {
            len += 1;
        }
        if self.body.is_some() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Up", len)?;
        if self.seq != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("seq", ToString::to_string(&self.seq).as_str())?;
        }
        if let Some(v) = self.body.as_ref() {
            match v {
                up::Body::Message(v) => {
                    struct_ser.serialize_field("message", v)?;
                }
                up::Body::Answer(v) => {
                    struct_ser.serialize_field("answer", v)?;
                }
                up::Body::Join(v) => {
                    struct_ser.serialize_field("join", v)?;
                }
                up::Body::Part(v) => {
                    struct_ser.serialize_field("part", v)?;
                }
                up::Body::Bye(v) => {
                    struct_ser.serialize_field("bye", v)?;
                }
            }
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Up {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "seq",
            "message",
            "answer",
            "join",
            "part",
            "bye",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Seq,
            Message,
            Answer,
            Join,
            Part,
            Bye,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "seq" => Ok(GeneratedField::Seq),
                            "message" => Ok(GeneratedField::Message),
                            "answer" => Ok(GeneratedField::Answer),
                            "join" => Ok(GeneratedField::Join),
                            "part" => Ok(GeneratedField::Part),
                            "bye" => Ok(GeneratedField::Bye),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Up;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Up")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Up, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut seq__ = None;
                let mut body__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Seq => {
                            if seq__.is_some() {
                                return Err(serde::de::Error::duplicate_field("seq"));
                            }
                            seq__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Message => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("message"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(up::Body::Message)
;
                        }
                        GeneratedField::Answer => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("answer"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(up::Body::Answer)
;
                        }
                        GeneratedField::Join => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("join"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(up::Body::Join)
;
                        }
                        GeneratedField::Part => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("part"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(up::Body::Part)
;
                        }
                        GeneratedField::Bye => {
                            if body__.is_some() {
                                return Err(serde::de::Error::duplicate_field("bye"));
                            }
                            body__ = map_.next_value::<::std::option::Option<_>>()?.map(up::Body::Bye)
;
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Up {
                    seq: seq__.unwrap_or_default(),
                    body: body__,
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Up", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for Welcome {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if self.session != 0 {
            len += 1;
        }
        if !self.player.is_empty() {
            len += 1;
        }
        if self.epoch != 0 {
            len += 1;
        }
        if self.rung != 0 {
            len += 1;
        }
        if self.reason != 0 {
            len += 1;
        }
        if self.leg != 0 {
            len += 1;
        }
        if self.applied != 0 {
            len += 1;
        }
        if self.lost_upstream != 0 {
            len += 1;
        }
        if !self.token.is_empty() {
            len += 1;
        }
        if !self.secret.is_empty() {
            len += 1;
        }
        if self.found {
            len += 1;
        }
        if self.hold_ms != 0 {
            len += 1;
        }
        if self.heartbeat_ms != 0 {
            len += 1;
        }
        if self.zone.is_some() {
            len += 1;
        }
        if self.message_bytes_max != 0 {
            len += 1;
        }
        if self.window_frames != 0 {
            len += 1;
        }
        if self.window_bytes != 0 {
            len += 1;
        }
        if !self.capabilities.is_empty() {
            len += 1;
        }
        if !self.resume_at.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.Welcome", len)?;
        if self.session != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("session", ToString::to_string(&self.session).as_str())?;
        }
        if !self.player.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("player", pbjson::private::base64::encode(&self.player).as_str())?;
        }
        if self.epoch != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("epoch", ToString::to_string(&self.epoch).as_str())?;
        }
        if self.rung != 0 {
            let v = Rung::try_from(self.rung)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.rung)))?;
            struct_ser.serialize_field("rung", &v)?;
        }
        if self.reason != 0 {
            let v = RungReason::try_from(self.reason)
                .map_err(|_| serde::ser::Error::custom(format!("Invalid variant {}", self.reason)))?;
            struct_ser.serialize_field("reason", &v)?;
        }
        if self.leg != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("leg", ToString::to_string(&self.leg).as_str())?;
        }
        if self.applied != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("applied", ToString::to_string(&self.applied).as_str())?;
        }
        if self.lost_upstream != 0 {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("lostUpstream", ToString::to_string(&self.lost_upstream).as_str())?;
        }
        if !self.token.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("token", pbjson::private::base64::encode(&self.token).as_str())?;
        }
        if !self.secret.is_empty() {
            #[allow(clippy::needless_borrow)]
            #[allow(clippy::needless_borrows_for_generic_args)]
            struct_ser.serialize_field("secret", pbjson::private::base64::encode(&self.secret).as_str())?;
        }
        if self.found {
            struct_ser.serialize_field("found", &self.found)?;
        }
        if self.hold_ms != 0 {
            struct_ser.serialize_field("holdMs", &self.hold_ms)?;
        }
        if self.heartbeat_ms != 0 {
            struct_ser.serialize_field("heartbeatMs", &self.heartbeat_ms)?;
        }
        if let Some(v) = self.zone.as_ref() {
            struct_ser.serialize_field("zone", v)?;
        }
        if self.message_bytes_max != 0 {
            struct_ser.serialize_field("messageBytesMax", &self.message_bytes_max)?;
        }
        if self.window_frames != 0 {
            struct_ser.serialize_field("windowFrames", &self.window_frames)?;
        }
        if self.window_bytes != 0 {
            struct_ser.serialize_field("windowBytes", &self.window_bytes)?;
        }
        if !self.capabilities.is_empty() {
            struct_ser.serialize_field("capabilities", &self.capabilities)?;
        }
        if !self.resume_at.is_empty() {
            struct_ser.serialize_field("resumeAt", &self.resume_at)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for Welcome {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "session",
            "player",
            "epoch",
            "rung",
            "reason",
            "leg",
            "applied",
            "lost_upstream",
            "lostUpstream",
            "token",
            "secret",
            "found",
            "hold_ms",
            "holdMs",
            "heartbeat_ms",
            "heartbeatMs",
            "zone",
            "message_bytes_max",
            "messageBytesMax",
            "window_frames",
            "windowFrames",
            "window_bytes",
            "windowBytes",
            "capabilities",
            "resume_at",
            "resumeAt",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Session,
            Player,
            Epoch,
            Rung,
            Reason,
            Leg,
            Applied,
            LostUpstream,
            Token,
            Secret,
            Found,
            HoldMs,
            HeartbeatMs,
            Zone,
            MessageBytesMax,
            WindowFrames,
            WindowBytes,
            Capabilities,
            ResumeAt,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "session" => Ok(GeneratedField::Session),
                            "player" => Ok(GeneratedField::Player),
                            "epoch" => Ok(GeneratedField::Epoch),
                            "rung" => Ok(GeneratedField::Rung),
                            "reason" => Ok(GeneratedField::Reason),
                            "leg" => Ok(GeneratedField::Leg),
                            "applied" => Ok(GeneratedField::Applied),
                            "lostUpstream" | "lost_upstream" => Ok(GeneratedField::LostUpstream),
                            "token" => Ok(GeneratedField::Token),
                            "secret" => Ok(GeneratedField::Secret),
                            "found" => Ok(GeneratedField::Found),
                            "holdMs" | "hold_ms" => Ok(GeneratedField::HoldMs),
                            "heartbeatMs" | "heartbeat_ms" => Ok(GeneratedField::HeartbeatMs),
                            "zone" => Ok(GeneratedField::Zone),
                            "messageBytesMax" | "message_bytes_max" => Ok(GeneratedField::MessageBytesMax),
                            "windowFrames" | "window_frames" => Ok(GeneratedField::WindowFrames),
                            "windowBytes" | "window_bytes" => Ok(GeneratedField::WindowBytes),
                            "capabilities" => Ok(GeneratedField::Capabilities),
                            "resumeAt" | "resume_at" => Ok(GeneratedField::ResumeAt),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = Welcome;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.Welcome")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<Welcome, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut session__ = None;
                let mut player__ = None;
                let mut epoch__ = None;
                let mut rung__ = None;
                let mut reason__ = None;
                let mut leg__ = None;
                let mut applied__ = None;
                let mut lost_upstream__ = None;
                let mut token__ = None;
                let mut secret__ = None;
                let mut found__ = None;
                let mut hold_ms__ = None;
                let mut heartbeat_ms__ = None;
                let mut zone__ = None;
                let mut message_bytes_max__ = None;
                let mut window_frames__ = None;
                let mut window_bytes__ = None;
                let mut capabilities__ = None;
                let mut resume_at__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Session => {
                            if session__.is_some() {
                                return Err(serde::de::Error::duplicate_field("session"));
                            }
                            session__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Player => {
                            if player__.is_some() {
                                return Err(serde::de::Error::duplicate_field("player"));
                            }
                            player__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Epoch => {
                            if epoch__.is_some() {
                                return Err(serde::de::Error::duplicate_field("epoch"));
                            }
                            epoch__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Rung => {
                            if rung__.is_some() {
                                return Err(serde::de::Error::duplicate_field("rung"));
                            }
                            rung__ = Some(map_.next_value::<Rung>()? as i32);
                        }
                        GeneratedField::Reason => {
                            if reason__.is_some() {
                                return Err(serde::de::Error::duplicate_field("reason"));
                            }
                            reason__ = Some(map_.next_value::<RungReason>()? as i32);
                        }
                        GeneratedField::Leg => {
                            if leg__.is_some() {
                                return Err(serde::de::Error::duplicate_field("leg"));
                            }
                            leg__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Applied => {
                            if applied__.is_some() {
                                return Err(serde::de::Error::duplicate_field("applied"));
                            }
                            applied__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::LostUpstream => {
                            if lost_upstream__.is_some() {
                                return Err(serde::de::Error::duplicate_field("lostUpstream"));
                            }
                            lost_upstream__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Token => {
                            if token__.is_some() {
                                return Err(serde::de::Error::duplicate_field("token"));
                            }
                            token__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Secret => {
                            if secret__.is_some() {
                                return Err(serde::de::Error::duplicate_field("secret"));
                            }
                            secret__ = 
                                Some(map_.next_value::<::pbjson::private::BytesDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Found => {
                            if found__.is_some() {
                                return Err(serde::de::Error::duplicate_field("found"));
                            }
                            found__ = Some(map_.next_value()?);
                        }
                        GeneratedField::HoldMs => {
                            if hold_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("holdMs"));
                            }
                            hold_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::HeartbeatMs => {
                            if heartbeat_ms__.is_some() {
                                return Err(serde::de::Error::duplicate_field("heartbeatMs"));
                            }
                            heartbeat_ms__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Zone => {
                            if zone__.is_some() {
                                return Err(serde::de::Error::duplicate_field("zone"));
                            }
                            zone__ = map_.next_value()?;
                        }
                        GeneratedField::MessageBytesMax => {
                            if message_bytes_max__.is_some() {
                                return Err(serde::de::Error::duplicate_field("messageBytesMax"));
                            }
                            message_bytes_max__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::WindowFrames => {
                            if window_frames__.is_some() {
                                return Err(serde::de::Error::duplicate_field("windowFrames"));
                            }
                            window_frames__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::WindowBytes => {
                            if window_bytes__.is_some() {
                                return Err(serde::de::Error::duplicate_field("windowBytes"));
                            }
                            window_bytes__ = 
                                Some(map_.next_value::<::pbjson::private::NumberDeserialize<_>>()?.0)
                            ;
                        }
                        GeneratedField::Capabilities => {
                            if capabilities__.is_some() {
                                return Err(serde::de::Error::duplicate_field("capabilities"));
                            }
                            capabilities__ = Some(map_.next_value()?);
                        }
                        GeneratedField::ResumeAt => {
                            if resume_at__.is_some() {
                                return Err(serde::de::Error::duplicate_field("resumeAt"));
                            }
                            resume_at__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(Welcome {
                    session: session__.unwrap_or_default(),
                    player: player__.unwrap_or_default(),
                    epoch: epoch__.unwrap_or_default(),
                    rung: rung__.unwrap_or_default(),
                    reason: reason__.unwrap_or_default(),
                    leg: leg__.unwrap_or_default(),
                    applied: applied__.unwrap_or_default(),
                    lost_upstream: lost_upstream__.unwrap_or_default(),
                    token: token__.unwrap_or_default(),
                    secret: secret__.unwrap_or_default(),
                    found: found__.unwrap_or_default(),
                    hold_ms: hold_ms__.unwrap_or_default(),
                    heartbeat_ms: heartbeat_ms__.unwrap_or_default(),
                    zone: zone__,
                    message_bytes_max: message_bytes_max__.unwrap_or_default(),
                    window_frames: window_frames__.unwrap_or_default(),
                    window_bytes: window_bytes__.unwrap_or_default(),
                    capabilities: capabilities__.unwrap_or_default(),
                    resume_at: resume_at__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.Welcome", FIELDS, GeneratedVisitor)
    }
}
impl serde::Serialize for ZoneRef {
    #[allow(deprecated)]
    fn serialize<S>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        use serde::ser::SerializeStruct;
        let mut len = 0;
        if !self.kind.is_empty() {
            len += 1;
        }
        if !self.name.is_empty() {
            len += 1;
        }
        let mut struct_ser = serializer.serialize_struct("rejoin.v1.ZoneRef", len)?;
        if !self.kind.is_empty() {
            struct_ser.serialize_field("kind", &self.kind)?;
        }
        if !self.name.is_empty() {
            struct_ser.serialize_field("name", &self.name)?;
        }
        struct_ser.end()
    }
}
impl<'de> serde::Deserialize<'de> for ZoneRef {
    #[allow(deprecated)]
    fn deserialize<D>(deserializer: D) -> std::result::Result<Self, D::Error>
    where
        D: serde::Deserializer<'de>,
    {
        const FIELDS: &[&str] = &[
            "kind",
            "name",
        ];

        #[allow(clippy::enum_variant_names)]
        enum GeneratedField {
            Kind,
            Name,
            __SkipField__,
        }
        impl<'de> serde::Deserialize<'de> for GeneratedField {
            fn deserialize<D>(deserializer: D) -> std::result::Result<GeneratedField, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                struct GeneratedVisitor;

                impl serde::de::Visitor<'_> for GeneratedVisitor {
                    type Value = GeneratedField;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(formatter, "expected one of: {:?}", &FIELDS)
                    }

                    #[allow(unused_variables)]
                    fn visit_str<E>(self, value: &str) -> std::result::Result<GeneratedField, E>
                    where
                        E: serde::de::Error,
                    {
                        match value {
                            "kind" => Ok(GeneratedField::Kind),
                            "name" => Ok(GeneratedField::Name),
                            _ => Ok(GeneratedField::__SkipField__),
                        }
                    }
                }
                deserializer.deserialize_identifier(GeneratedVisitor)
            }
        }
        struct GeneratedVisitor;
        impl<'de> serde::de::Visitor<'de> for GeneratedVisitor {
            type Value = ZoneRef;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("struct rejoin.v1.ZoneRef")
            }

            fn visit_map<V>(self, mut map_: V) -> std::result::Result<ZoneRef, V::Error>
                where
                    V: serde::de::MapAccess<'de>,
            {
                let mut kind__ = None;
                let mut name__ = None;
                while let Some(k) = map_.next_key()? {
                    match k {
                        GeneratedField::Kind => {
                            if kind__.is_some() {
                                return Err(serde::de::Error::duplicate_field("kind"));
                            }
                            kind__ = Some(map_.next_value()?);
                        }
                        GeneratedField::Name => {
                            if name__.is_some() {
                                return Err(serde::de::Error::duplicate_field("name"));
                            }
                            name__ = Some(map_.next_value()?);
                        }
                        GeneratedField::__SkipField__ => {
                            let _ = map_.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(ZoneRef {
                    kind: kind__.unwrap_or_default(),
                    name: name__.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_struct("rejoin.v1.ZoneRef", FIELDS, GeneratedVisitor)
    }
}
